-- Returns to the role that migrates, and takes back the right that before.sql gave for this transaction.
reset role;
revoke create on schema :"api_schema" from jobforge_owner, jobforge_view;
