# suite: long
# gpu.search on collections with relevance judgements: the best 100 of every query and their scores are those of BM25 in SQL, and
# nDCG@10 is printed for both. The collections aren't part of the sources: without them this is skipped.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $root = "$FindBin::RealBin/../../..";
my $data = ($ENV{PG_GPU_DATA} || "$root/../shared/data") . '/text';
my @collections = grep { -e "$data/$_/docs.tsv.xz" } qw(cacm cranfield npl scifact);
plan skip_all => "no judged collections in $data; PG_GPU_DATA names the folder that text/ lies in" unless @collections;
plan skip_all => 'they are compressed, and xz is not here (install-dependencies --for check)' if system('xz --version >/dev/null 2>&1') != 0;

# The nDCG@10 that BM25 without stemming is known to reach there.
my %known = (scifact => 0.66);

my $node = new_cluster('judged');
my $functions = slurp_file("$root/test/bench/judged.sql");

# Fields are taken as they are: no character quotes or escapes.
my $format = q{FORMAT csv, DELIMITER E'\t', QUOTE E'\x01', ESCAPE E'\x01'};

for my $collection (@collections)
{
	my $directory = "$data/$collection";
	$node->safe_psql('postgres', "CREATE DATABASE $collection TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'");
	my $documents = $node->basedir . "/$collection.tsv";
	system("xz -dc '$directory/docs.tsv.xz' > '$documents'") == 0 or die "xz failed on $directory/docs.tsv.xz\n";
	$node->safe_psql($collection, "CREATE EXTENSION pg_gpu;\n$functions");
	$node->safe_psql($collection, <<"SQL");
\\copy document (id, title, body) FROM '$documents' ($format)
\\copy query (id, body) FROM '$directory/queries.tsv' ($format)
\\copy judgement FROM '$directory/qrels.tsv' ($format)
SQL
	for my $configuration ('english', exists $known{$collection} ? 'simple' : ())
	{
		my $result = $node->safe_psql($collection, <<"SQL");
SET client_min_messages = warning;
SELECT prepare_collection('$configuration');
SELECT (SELECT count(*) FROM ranking WHERE system = 'sql'), ranking_differences(), ndcg('gpu_text'), ndcg('sql');
SQL
		my ($compared, $different, $ours, $reference) = split /\|/, (split /\n/, $result)[-1];
		note("nDCG\@10 on $collection, configuration $configuration: gpu_text $ours, SQL $reference");
		cmp_ok($compared, '>', 1000, "$collection, $configuration: there is something to compare");
		is($different, 0, "$collection, $configuration: $compared places with their scores are as BM25 in SQL has them");
		cmp_ok($ours, '>=', $reference, "$collection, $configuration: nDCG\@10 $ours is no worse than $reference");
		cmp_ok(abs($ours - $known{$collection}), '<', 0.02, "$collection: nDCG\@10 is near the known $known{$collection}")
		  if $configuration eq 'simple';
	}
}

check_path($node);
$node->stop;
done_testing();
