# suite: check
# The library and the SQL objects of a database tell when they are of two versions; ALTER EXTENSION … UPDATE from every
# version that was released makes the objects that CREATE EXTENSION makes.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_cluster('main');
$node->safe_psql('postgres', q{
CREATE TABLE t AS SELECT i AS k, i AS id FROM generate_series(1, 1000) AS i;
CREATE INDEX t_k ON t USING gpu_kary (k);
});
my $version = $node->safe_psql('postgres', q{SELECT extversion FROM pg_extension WHERE extname = 'pg_gpu'});
is($version, $node->safe_psql('postgres', q{SELECT default_version FROM pg_available_extensions WHERE name = 'pg_gpu'}),
	'CREATE EXTENSION makes the default version');
my $count = q{SELECT gpu.count('t_k', ARRAY[10], ARRAY[19])};
is($node->safe_psql('postgres', $count), 10, 'functions of the same version answer');

# ---- two versions -------------------------------------------------------------------------------------------

foreach my $case (
	[ '0.9.9', qr/HINT:\s+Run ALTER EXTENSION pg_gpu UPDATE in this database/ ],
	[ '0.10', qr/HINT:\s+Run ALTER EXTENSION/ ],
	[ "$version.1", qr/HINT:\s+Reconnect.*shared_preload_libraries.*restart/s ],
	[ '99', qr/HINT:\s+Reconnect/ ])
{
	my ($objects, $hint) = @$case;
	$node->safe_psql('postgres', "UPDATE pg_extension SET extversion = '$objects' WHERE extname = 'pg_gpu'");
	foreach my $call ($count, q{SELECT * FROM gpu.stat}, q{SELECT * FROM gpu.runs('t_k')})
	{
		my ($status, $out, $errors) = $node->psql('postgres', $call, extra_params => [ '-v', 'VERBOSITY=verbose' ]);
		isnt($status, 0, "objects of $objects: $call fails");
		like($errors, qr/ERROR:\s+55000: pg_gpu's library has version \Q$version\E, its SQL objects in database "postgres" have version \Q$objects\E\n/,
			"objects of $objects: it says so");
		like($errors, $hint, "objects of $objects: it says what to do");
	}
	is($node->safe_psql('postgres', 'SET enable_seqscan = off; SELECT sum(id) FROM t WHERE k BETWEEN 10 AND 12; INSERT INTO t VALUES (7, 7)'),
		33, "objects of $objects: the index is read and written");
}
$node->safe_psql('postgres', "UPDATE pg_extension SET extversion = '$version' WHERE extname = 'pg_gpu'");
is($node->safe_psql('postgres', $count), 10, 'all is well again');

# ---- updates ------------------------------------------------------------------------------------------------

# Returns everything about the extension's members that SQL can change, a line each.
my $members = q{
SELECT string_agg(line, E'\n' ORDER BY line COLLATE "C") FROM (
    SELECT pg_describe_object(classid, objid, 0) || ': ' ||
           coalesce(CASE classid
               WHEN 'pg_proc'::regclass THEN (SELECT pg_get_functiondef(oid) || ' ' || coalesce(proacl::text, '') FROM pg_proc WHERE oid = objid AND prokind = 'f')
               WHEN 'pg_class'::regclass THEN (SELECT coalesce(pg_get_viewdef(oid), '') || ' ' || coalesce(relacl::text, '') FROM pg_class WHERE oid = objid)
               WHEN 'pg_operator'::regclass THEN (SELECT concat_ws(' ', oprcode, oprrest, oprjoin, oprcom::regoper, oprnegate::regoper, oprcanhash, oprcanmerge) FROM pg_operator WHERE oid = objid)
               WHEN 'pg_opclass'::regclass THEN (SELECT concat_ws(' ', opcintype::regtype, opcdefault, opckeytype) FROM pg_opclass WHERE oid = objid)
               WHEN 'pg_opfamily'::regclass THEN (SELECT string_agg(concat_ws(' ', amopstrategy, amoppurpose, amopopr::regoperator), ', ' ORDER BY amopstrategy, amopopr::regoperator::text)
                                                  FROM pg_amop WHERE amopfamily = objid)
               END, '') || ' ' || coalesce(obj_description(objid, classid::regclass::name), '') AS line
    FROM pg_depend
    WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
      AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pg_gpu')) AS members};
$node->safe_psql('postgres', 'CREATE DATABASE fresh');
$node->safe_psql('fresh', 'CREATE EXTENSION pg_gpu');
my $expected = $node->safe_psql('fresh', $members);
cmp_ok(scalar(split(/\n/, $expected)), '>', 100, 'there are members to compare');
is($node->safe_psql('fresh', "BEGIN; $members; ROLLBACK"), $expected, 'the comparison repeats itself');
# The comparison must see what an update script would most easily forget.
foreach my $change (
	q{ALTER FUNCTION gpu.merge(regclass) COST 7}, q{GRANT EXECUTE ON FUNCTION gpu.merge(regclass) TO PUBLIC},
	q{ALTER OPERATOR FAMILY gpu.integer_ops USING gpu_kary DROP OPERATOR 1 (int2, int8)},
	q{COMMENT ON OPERATOR CLASS gpu.int4_ops USING gpu_kary IS 'another'},
	q{ALTER EXTENSION pg_gpu DROP FUNCTION gpu.merge(regclass)})
{
	isnt($node->safe_psql('fresh', "BEGIN; $change; $members; ROLLBACK"), $expected, "seen: $change");
}

my @released = split(/\n/, $node->safe_psql('postgres',
		qq{SELECT version FROM pg_available_extension_versions WHERE name = 'pg_gpu' AND version <> '$version' ORDER BY 1}));
note('no earlier version has been released') unless @released;
foreach my $old (@released)
{
	(my $database = "from_$old") =~ tr/./_/;
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, qq{
CREATE EXTENSION pg_gpu VERSION '$old';
CREATE TABLE t AS SELECT i AS k FROM generate_series(1, 1000) AS i;
CREATE INDEX t_k ON t USING gpu_kary (k);
});
	$node->safe_psql($database, 'ALTER EXTENSION pg_gpu UPDATE');
	is($node->safe_psql($database, $members), $expected, "updated from $old: the objects of a fresh $version");
	is($node->safe_psql($database, $count), 10, "updated from $old: functions answer");
}
$node->stop;

done_testing();
