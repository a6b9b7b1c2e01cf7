-- Lists and bulk changes can mean the jobs with one kind of error: see jobforge.error_group.
alter type jobforge.job_filter add attribute error_group text;
