# suite: check
# What searches without an index of gpu_text is told so once a statement, in every protocol that a driver may speak: when the statement
# is planned, or else when it is executed.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_cluster('notices');
$node->safe_psql('postgres', q{
	CREATE TABLE note (id int, body text);
	INSERT INTO note SELECT g, 'running zebra ' || g FROM generate_series(1, 100) g;
	CREATE VIEW shown AS SELECT id, body || '' AS body FROM note;
	VACUUM ANALYZE note});

my $scripts = PostgreSQL::Test::Utils::tempdir();

# Runs a script of pgbench's some times, and returns how many notices each gave.
sub notices
{
	my ($protocol, $times, $script) = @_;
	my $file = "$scripts/script.sql";
	append_to_file($file, $script);
	my ($out, $err);
	IPC::Run::run [ configured('--bindir') . '/pgbench', '-n', '-M', $protocol, '-t', $times, '-f', $file, '-h', $node->host, '-p', $node->port, 'postgres' ], '>', \$out, '2>', \$err
		or die "pgbench failed: $err";
	unlink $file;
	my $count = () = $err =~ /^NOTICE:  /mg;
	return $count / $times;
}

for my $protocol ('simple', 'extended', 'prepared')
{
	my $column = "SELECT count(*) FROM note WHERE body @@@ 'zebra';\n";
	is(notices($protocol, 1, $column), 1, "$protocol: a column's search");
	is(notices($protocol, 8, $column), 1, "$protocol: each time that it is executed");
	is(notices($protocol, 8, "\\set word 5\nSELECT count(*) FROM note WHERE body @@@ (:word)::text;\n"), 1, "$protocol: what is searched for is a parameter");
	is(notices($protocol, 1, "SELECT count(*) FROM shown WHERE body @@@ 'zebra';\n"), 1, "$protocol: an expression's search, seen at execution");
	is(notices($protocol, 1, "SELECT count(*) FROM note a JOIN note b USING (id) WHERE a.body @@@ 'zebra' AND b.body @@@ 'run*';\n"), 1, "$protocol: two searches in a statement");
	is(notices($protocol, 4, "BEGIN;\n$column${column}COMMIT;\n"), 2, "$protocol: statements that are the same, in a transaction");
	is(notices($protocol, 1, "BEGIN;\nDECLARE c CURSOR FOR SELECT id FROM note WHERE body @@@ 'zebra';\nFETCH 10 FROM c;\nFETCH 10 FROM c;\nCOMMIT;\n"), 1, "$protocol: a cursor");
}

done_testing();
