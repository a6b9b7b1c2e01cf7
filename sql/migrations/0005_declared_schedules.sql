-- Which application declares a schedule in its code; null: none does, it was made while running. When the application stops
-- declaring it, it is disabled.
alter table jobforge.schedules
  add column declared_by text check (declared_by <> '' and octet_length(declared_by) <= 200);

-- What an application has declared is found without reading every schedule there is.
create index schedules_declared_by on jobforge.schedules (declared_by) where declared_by is not null;
