# suite: check
# Aggregates, joins and first rows over foreign tables of postgres_fdw, which sends them whole to two other nodes, where gpu_column indexes
# answer them. The same tables are reached by other connections that leave the indexes out: answers must be alike, and the statements that
# were sent must be the nodes' there.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest;
use Test::More;

my @remotes = map { new_cluster($_) } ('east', 'west');
my $local = new_cluster('local');

for my $number (0, 1)
{
	my ($from, $to) = (1 + $number * 10_000, 10_000 + $number * 10_000);
	$remotes[$number]->safe_psql('postgres', <<"SQL");
CREATE TABLE sales (id int, region int, shop int, amount numeric(10,2), pieces int2, price float8, sold timestamp, note text);
INSERT INTO sales SELECT i, $number, nullif(i * 7 % 40, 13), (i * 37 % 5000) / 4.0, i % 30, (i % 64) / 8.0,
	timestamp '2025-01-01' + i * interval '11 minutes', CASE WHEN i % 9 <> 0 THEN 'note ' || i % 12 END
FROM generate_series($from, $to) AS i;
CREATE TABLE shops (shop int PRIMARY KEY, town text, rank int);
INSERT INTO shops SELECT i, 'town ' || i % 6, nullif(i % 5, 2) FROM generate_series(0, 35) AS i;
CREATE INDEX sales_columns ON sales USING gpu_column (id, region, shop, amount, pieces, price, sold, note);
VACUUM ANALYZE sales;
VACUUM ANALYZE shops;
SQL
}

# `off` leaves the nodes out. They are wanted wherever they can be, and the server process is asked, though tables are small here.
my %options = (
	nodes => '-c pg_gpu.path=host -c enable_hashagg=off -c enable_sort=off -c enable_seqscan=off',
	off => '-c pg_gpu.enable_query=off -c pg_gpu.enable_count_scan=off');
$local->safe_psql('postgres', 'CREATE EXTENSION postgres_fdw');
for my $way (sort keys %options)
{
	my $columns = 'id int, region int, shop int, amount numeric(10,2), pieces int2, price float8, sold timestamp, note text';
	$local->safe_psql('postgres', "CREATE TABLE sales_$way ($columns) PARTITION BY LIST (region)");
	for my $number (0, 1)
	{
		my ($host, $port, $name) = ($remotes[$number]->host, $remotes[$number]->port, $remotes[$number]->name . "_$way");
		$local->safe_psql('postgres', <<"SQL");
CREATE SERVER $name FOREIGN DATA WRAPPER postgres_fdw
  OPTIONS (host '$host', port '$port', dbname 'postgres', options '$options{$way}', use_remote_estimate 'true');
CREATE USER MAPPING FOR CURRENT_USER SERVER $name;
CREATE FOREIGN TABLE sales_$name PARTITION OF sales_$way FOR VALUES IN ($number) SERVER $name OPTIONS (table_name 'sales');
CREATE FOREIGN TABLE shops_$name (shop int, town text, rank int) SERVER $name OPTIONS (table_name 'shops');
SQL
	}
}

# The statements that are sent to remote nodes for this one.
sub sent_statements
{
	my ($sql) = @_;
	my $plan = $local->safe_psql('postgres', "SET enable_partitionwise_aggregate = on; EXPLAIN (VERBOSE, COSTS OFF) $sql");
	return $plan =~ /Remote SQL: (.*)/g;
}

# Runs the statement over both kinds of connections; T is the table, E its part on the one node, S and W are tables of shops there and on the
# other. Each statement that is sent must be a node's; or, without one, it asks for rows.
sub same_answers
{
	my ($node, $sql, $sent) = @_;
	my %answers;
	for my $way (sort keys %options)
	{
		(my $own = $sql) =~ s/\bT\b/sales_$way/g;
		$own =~ s/\bE\b/sales_east_$way/g;
		$own =~ s/\bS\b/shops_east_$way/g;
		$own =~ s/\bW\b/shops_west_$way/g;
		$answers{$way} = $local->safe_psql('postgres', "SET enable_partitionwise_aggregate = on; $own");
		next if $way eq 'off';
		my @statements = sent_statements($own);
		is(scalar @statements, $sent, "so many statements are sent: $sql");
		# postgres_fdw runs them by cursors.
		local $ENV{PGOPTIONS} = $options{nodes};
		if (!defined $node)
		{
			unlike($_, qr/count\(|sum\(| JOIN /, "rows are asked for: $_") foreach @statements;
			next;
		}
		like($remotes[0]->safe_psql('postgres', "SET search_path = pg_catalog; EXPLAIN (COSTS OFF) DECLARE c CURSOR FOR $_"),
			qr/Custom Scan \($node\)/, "a $node answers: $_")
		  foreach @statements;
	}
	isnt($answers{off}, '', "there is something to compare: $sql");
	is($answers{nodes}, $answers{off}, "answers are alike: $sql");
	return;
}

# One foreign table.
same_answers('GpuQuery', 'SELECT count(*), sum(pieces), avg(amount), min(sold), max(note), stddev(pieces) FROM E', 1);
same_answers('GpuQuery', "SELECT note, count(*), sum(amount) FROM E WHERE pieces > 10 AND shop <> 3 GROUP BY note ORDER BY note", 1);
same_answers('GpuQuery', 'SELECT shop % 4 AS s, pieces / 10, sum(price) FROM E GROUP BY 1, 2 ORDER BY 1, 2', 1);
same_answers('GpuQuery', 'SELECT shop, count(DISTINCT note) FROM E GROUP BY shop HAVING sum(pieces) > 100 ORDER BY shop', 1);
# Two tables of one node, joined there.
same_answers('GpuQuery', 'SELECT s.town, s.rank, count(*), sum(f.amount) FROM E f JOIN S s ON f.shop = s.shop WHERE s.rank > 0 GROUP BY 1, 2 ORDER BY 1, 2', 1);
same_answers('GpuQuery', 'SELECT s.rank, count(*), count(s.town) FROM E f LEFT JOIN S s ON f.shop = s.shop GROUP BY 1 ORDER BY 1', 1);
# First rows.
same_answers('GpuQuery', 'SELECT id, amount FROM E ORDER BY amount DESC, id LIMIT 12', 1);
# Partitions on two nodes, grouped by the partition key.
same_answers('GpuQuery', 'SELECT region, shop, count(*), sum(amount) FROM T GROUP BY region, shop ORDER BY 1, 2', 2);
same_answers('GpuQuery', 'SELECT region, max(sold), avg(price) FROM T WHERE pieces < 20 GROUP BY region ORDER BY 1', 2);
# What postgres_fdw can't send whole: groups over both nodes, and joins of tables of both.
same_answers(undef, 'SELECT shop, count(*), sum(amount) FROM T GROUP BY shop ORDER BY 1', 2);
same_answers(undef, 'SELECT w.town, count(*) FROM E f JOIN W w ON f.shop = w.shop GROUP BY 1 ORDER BY 1', 2);

# Rows that others have changed since, and those of an open transaction of this session's own.
$_->safe_psql('postgres', "UPDATE sales SET pieces = pieces + 1 WHERE id % 11 = 0; DELETE FROM sales WHERE id % 17 = 0; INSERT INTO sales SELECT * FROM sales WHERE id % 23 = 0") foreach @remotes;
same_answers('GpuQuery', 'SELECT region, shop, count(*), sum(pieces) FROM T GROUP BY region, shop ORDER BY 1, 2', 2);
is($local->safe_psql('postgres', <<'SQL'), "0\n1", 'a transaction sees what it changes on the remote node');
BEGIN;
DELETE FROM sales_east_nodes WHERE shop = 5;
SELECT count(*) FROM (SELECT note, count(*) FROM sales_east_nodes WHERE shop = 5 GROUP BY note) AS n;
ROLLBACK;
SELECT count(*) FROM (SELECT shop, count(*) FROM sales_east_nodes WHERE shop = 5 GROUP BY shop) AS n;
SQL

$_->stop foreach ($local, @remotes);
done_testing();
