-- By this secret the runs are known that began in this installation: all hosts that share the journal.
CREATE TABLE installation (secret bytea NOT NULL);
INSERT INTO installation
  VALUES (decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'));

INSERT INTO release VALUES (3, '0.2.0');
