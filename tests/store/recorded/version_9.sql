CREATE TABLE facts (
	name VARCHAR(40) NOT NULL, 
	value TEXT NOT NULL, 
	sum BIGINT NOT NULL, 
	PRIMARY KEY (name)
);
CREATE TABLE forms (
	form BIGINT NOT NULL, 
	week INTEGER NOT NULL, 
	text TEXT NOT NULL, 
	sum BIGINT NOT NULL, 
	PRIMARY KEY (form)
);
CREATE TABLE jobs (
	id SERIAL NOT NULL, 
	job_id BIGINT NOT NULL, 
	array_job_id BIGINT, 
	user_name TEXT NOT NULL, 
	account TEXT NOT NULL, 
	partition_name TEXT NOT NULL, 
	name TEXT NOT NULL, 
	state VARCHAR(20) NOT NULL, 
	submit_time BIGINT NOT NULL, 
	start_time BIGINT, 
	end_time BIGINT NOT NULL, 
	payload VARCHAR(40) NOT NULL, 
	record TEXT NOT NULL, 
	form BIGINT, 
	PRIMARY KEY (id)
);
CREATE INDEX jobs_by_array ON jobs (array_job_id);
CREATE INDEX jobs_by_job_id ON jobs (job_id);
CREATE INDEX jobs_by_payload ON jobs (payload);
CREATE INDEX jobs_by_times ON jobs (end_time, submit_time);
CREATE TABLE journal (
	seq BIGINT NOT NULL, 
	time BIGINT NOT NULL, 
	event TEXT NOT NULL, 
	sum BIGINT NOT NULL, 
	PRIMARY KEY (seq)
);
CREATE TABLE letters (
	number BIGINT NOT NULL, 
	letter TEXT NOT NULL, 
	sum BIGINT NOT NULL, 
	PRIMARY KEY (number)
);
CREATE TABLE runs (
	job_id BIGINT NOT NULL, 
	restart_count INTEGER NOT NULL, 
	data TEXT NOT NULL, 
	sum BIGINT NOT NULL, 
	PRIMARY KEY (job_id, restart_count)
);
CREATE TABLE snapshots (
	seq BIGINT NOT NULL, 
	state BYTEA NOT NULL, 
	until BIGINT, 
	sum BIGINT NOT NULL, 
	PRIMARY KEY (seq)
);
CREATE TABLE submissions (
	payload VARCHAR(40) NOT NULL, 
	data BYTEA NOT NULL, 
	sum BIGINT NOT NULL, 
	PRIMARY KEY (payload)
);
