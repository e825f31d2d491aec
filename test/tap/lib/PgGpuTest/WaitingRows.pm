# A table whose rows wait for each other in gpu_column, and whether its index has the rows of the table.
package PgGpuTest::WaitingRows;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use PgGpuTest::Faults;
use Test::More;

our @EXPORT = qw($waiting_table $beside has_rows add_beside);

our $waiting_table = 'CREATE TABLE waiting (k int8, note text); CREATE INDEX waiting_i ON waiting USING gpu_column (k, note)';

# How many rows the table has with keys of no more than 0: those that came beside the statement that is looked at.
our $beside = 0;

# By the index and by the table, of rows that come in one statement and of the others.
my $counts = "SELECT gpu.count('waiting_i', 'k > 0'), (SELECT count(*) FROM waiting WHERE k > 0), gpu.count('waiting_i', 'k <= 0'), (SELECT count(*) FROM waiting WHERE k <= 0)";

sub has_rows
{
	my ($node, $many, $what) = @_;
	my $found = sql_value($node, "SET pg_gpu.enable_query = off; SET pg_gpu.enable_count_scan = off; SET enable_bitmapscan = off; $counts");
	return is($found, "$many|$many|$beside|$beside", "$what: the rows of the index are the table's");
}

sub add_beside
{
	my ($node, $many) = @_;
	$node->safe_psql('postgres', "LOAD 'pg_gpu'; INSERT INTO waiting SELECT -g, 'beside' FROM generate_series(1, $many) AS g");
	$beside += $many;
	return;
}

1;
