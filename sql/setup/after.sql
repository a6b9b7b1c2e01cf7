reset role;
revoke create on schema :"api_schema" from jobforge_owner, jobforge_view;
