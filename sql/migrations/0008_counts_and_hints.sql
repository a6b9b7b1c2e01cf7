-- Both say more than before. The type of a function's rows cannot be changed in place; what replaces them comes with this migration.
drop function if exists :"api_schema".jobforge_list_gates();
drop function if exists :"api_schema".jobforge_list_types(interval);

-- Whether the look that a hint was made of was costly.
alter type jobforge.hint add attribute costly boolean;
