# suite: check
# Damaged gpu_grid files: planted faults in entry pages and directories, and bytes flipped at random. The server
# must neither crash nor hang; a statement that notices raises a corruption error with a hint to REINDEX;
# gpu.verify finds every planted fault; and REINDEX mends the index. What all access methods share is damaged by
# 160_damage.pl.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../lib";

use PgGpuTest::Damage;
use PgGpuTest::Faults;
use PgGpuTest;
use PostgreSQL::Test::Utils;
use Test::More;

# Where things lie, as src/storage/format.h and src/grid/page.h have them, of an index on an int8 and an int4
# column.
use constant {
	CONTENT => 24,
	META_RUNS => 24 + 120,
	RUN_ENTRY => 128,
	ARRAYS => 5,
	BASES => 24 + 16,
	WIDTHS => 24 + 16 + 5 * 8,
	PACKED => 24 + 16 + 5 * 8 + 8,
	ROOT => 24 + 2 * 5 * 8,    # behind the summary
};

fault_seed();

sub change
{
	my ($file, $block, $offset, $length, $new) = @_;
	my $page = read_page($file, $block);
	substr($page, $offset, $length) = ref $new ? $new->(substr($page, $offset, $length)) : $new;
	write_page($file, $block, $page);
	return;
}

# The largest run: the one CREATE INDEX made, which is one extent.
sub built_run
{
	my ($file) = @_;
	my $page = read_page($file, 0);
	my $count = unpack('V', substr($page, CONTENT + 12, 4));
	my @runs;
	foreach my $number (0 .. $count - 1)
	{
		my $at = META_RUNS + $number * RUN_ENTRY;
		my $entry = substr($page, $at, RUN_ENTRY);
		my ($entries) = unpack('Q<', substr($entry, 16, 8));
		my ($start) = unpack('V', substr($entry, 48, 4));
		my @sections = unpack('V8', substr($entry, 80, 32));
		push @runs, { at => $at, entries => $entries, bitmap => $start + $sections[0], pages => $start + $sections[2],
			directory => $start + $sections[4] };
	}
	my ($run) = sort { $b->{entries} <=> $a->{entries} } @runs;
	return $run;
}

sub change_page { my ($file, $number, @what) = @_; change($file, built_run($file)->{pages} + $number, @what); return; }
sub change_directory { my ($file, @what) = @_; change($file, built_run($file)->{directory}, @what); return; }
sub more { my ($step) = @_; return sub { pack('Q<', unpack('Q<', $_[0]) + $step) }; }

# The byte at which the root's cells begin: behind its two dimensions and their scales.
sub cells
{
	my ($file) = @_;
	my $page = read_page($file, built_run($file)->{directory});
	my @intervals = unpack('V x4 V', substr($page, ROOT, 16));
	return ROOT + 8 * (2 + $intervals[0] - 1 + $intervals[1] - 1);
}

# All rows of cells like the first: what lies in one is found in each.
sub repeat_first_row
{
	my ($file) = @_;
	my $page = read_page($file, built_run($file)->{directory});
	my @intervals = unpack('V x4 V', substr($page, ROOT, 16));
	my $row = substr($page, cells($file), 16 * $intervals[1]);
	change_directory($file, cells($file), $intervals[0] * length $row, $row x $intervals[0]);
	return;
}

# name => [ kind, sub($file) ]. Kinds: loud, a statement raises an error or answers rightly; silent, entries lie in
# a way no query can see; gpu.verify must.
my %faults = (
	'number of entries' => [ 'loud', sub { change_page($_[0], 1, CONTENT + 8, 2, sub { pack('v', unpack('v', $_[0]) - 1) }) } ],
	'no entries' => [ 'loud', sub { change_page($_[0], 1, CONTENT + 8, 2, pack('v', 0)) } ],
	'too many entries' => [ 'loud', sub { change_page($_[0], 1, CONTENT + 8, 2, pack('v', 60000)) } ],
	'first ordinal' => [ 'loud', sub { change_page($_[0], 2, CONTENT, 8, more(1)) } ],
	'first ordinal behind the run' => [ 'loud', sub { change_page($_[0], 2, CONTENT, 8, pack('Q<', 1 << 50)) } ],
	'number of arrays' => [ 'loud', sub { change_page($_[0], 1, CONTENT + 10, 2, pack('v', 6)) } ],
	'width that is none' => [ 'loud', sub { change_page($_[0], 1, WIDTHS + 3, 1, chr(60)) } ],
	'width over the page' => [ 'loud', sub { change_page($_[0], 1, WIDTHS + 3, 1, chr(64)) } ],
	'two pages exchanged' => [ 'loud', sub {
		my $pages = built_run($_[0])->{pages};
		my ($first, $second) = map { read_page($_[0], $pages + $_) } 1, 2;
		write_page($_[0], $pages + 1, $second);
		write_page($_[0], $pages + 2, $first) } ],
	'directory zeroed' => [ 'loud', sub { write_page($_[0], built_run($_[0])->{directory}, "\0" x BLOCK_SIZE) } ],
	'intervals, too many' => [ 'loud', sub { change_directory($_[0], ROOT, 4, pack('V', 0xffffffff)) } ],
	'intervals, one more' => [ 'silent', sub { change_directory($_[0], ROOT, 8, more(1)) } ],
	'no intervals' => [ 'loud', sub { change_directory($_[0], ROOT, 8, pack('Q<', 0)) } ],
	'cell behind the run' => [ 'loud', sub { change_directory($_[0], cells($_[0]) + 16 * 3, 8, pack('Q<', 1 << 40)) } ],
	'page of a cell behind the run' => [ 'silent', sub { change_directory($_[0], cells($_[0]) + 16 * 3 + 8, 4, pack('V', 50_000)) } ],
	'grid of a cell behind the directory' => [ 'silent', sub { change_directory($_[0], cells($_[0]) + 16 * 3 + 12, 4, pack('V', 1 << 30)) } ],
	'grid of a cell that is its own' => [ 'silent', sub { change_directory($_[0], cells($_[0]) + 16 * 3 + 12, 4, pack('V', 2 * ARRAYS)) } ],
	'words of the directory' => [ 'loud', sub { change($_[0], 0, built_run($_[0])->{at} + 32, 8, pack('Q<', 5)) } ],

	'start of an interval' => [ 'silent', sub { change_directory($_[0], ROOT + 16, 8, more(5000)) } ],
	'rows of cells that are one' => [ 'silent', \&repeat_first_row ],
	'start of a cell' => [ 'silent', sub { change_directory($_[0], cells($_[0]) + 16 * 5, 8, more(1)) } ],
	'summary' => [ 'silent', sub { change_directory($_[0], CONTENT + 8 * 7, 8, more(-1)) } ],
	'base of a lane' => [ 'silent', sub { change_page($_[0], 1, BASES + 3 * 8, 8, more(1 << 30)) } ],
	'width of a lane' => [ 'silent', sub { change_page($_[0], 1, WIDTHS + 3, 1, sub { chr(ord($_[0]) - 1) }) } ],
	'base of the offsets' => [ 'silent', sub { change_page($_[0], 1, BASES + 8, 8, more(200)) } ],
	'base of the blocks' => [ 'silent', sub { change_page($_[0], 1, BASES, 8, more(1 << 20)) } ],
	'NULLs of columns that are not there' => [ 'silent', sub { change_page($_[0], 1, BASES + 16, 8, more(4)) } ],
	'an entry' => [ 'silent', sub { change_page($_[0], 1, PACKED + 3, 1, sub { $_[0] ^ "\x01" }) } ],
	'dead bit of a live entry' => [ 'silent', sub { change($_[0], built_run($_[0])->{bitmap}, CONTENT + 3, 1, "\xff") } ],
	'key in the tail' => [ 'silent', sub { change($_[0], 1, CONTENT + 8, 1, sub { $_[0] ^ "\x01" }) } ],
	'NULLs in the tail' => [ 'loud', sub { change($_[0], 1, CONTENT + 20, 1, "\xff") } ],);

foreach my $number (1 .. rounds(12, 400))
{
	my @where = map { [ rand() < 0.15 ? 0 : rand() < 0.3 ? -2 : -1, rand(), random_int(1, 255) ] } (1 .. random_int(1, 6));
	$faults{"flip $number"} = [ 'random', sub {
		my ($file) = @_;
		foreach my $flip (@where)
		{
			my ($block, $place, $bits) = @$flip;
			my $in_use = $block == 0 ? META_RUNS + RUN_ENTRY * 4 : BLOCK_SIZE;
			$block = built_run($file)->{directory} if $block == -2;
			$block = int($place * index_blocks($file)) if $block == -1;
			change($file, $block, int($place * 65_521) % $in_use, 1, sub { chr(ord($_[0]) ^ $bits) });
		}
	} ];
}

# ---- making the tables, planting the faults -----------------------------------------------------------------

my $node = new_damageable('grid_damage');
my %table;
my $script = q{
SET client_min_messages = warning;
CREATE TABLE rows AS SELECT i AS id, CASE WHEN i % 101 = 0 THEN NULL ELSE (i * 7919 % 50021)::int8 END AS k, i * 104729 % 1009 AS l
	FROM generate_series(1, 12000) AS i;
};
my $number = 0;
foreach my $name (sort keys %faults)
{
	my $t = $table{$name} = 'd' . ++$number;
	# One run from the build with dead entries in it, sealed ones, and a tail.
	$script .= "CREATE TABLE $t (id int8, k int8, l int4);
INSERT INTO $t SELECT * FROM rows WHERE id <= 10000;
CREATE INDEX ${t}_i ON $t USING gpu_grid (k, l);
DELETE FROM $t WHERE id BETWEEN 3000 AND 3200;
VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) $t;
INSERT INTO $t SELECT * FROM rows WHERE id > 10000 AND id <= 11700;\n";
}
$node->safe_psql('postgres', $script);
my %file = map { $_ => index_file($node, "$table{$_}_i") } keys %table;
$node->stop;
$faults{$_}[1]->($file{$_}) foreach sort keys %faults;
$node->start;

my $started = alive_since($node);

# ---- asking and looking -------------------------------------------------------------------------------------

my @questions = (
	[ 'index-only', 'SET enable_bitmapscan = off;', q{SELECT count(k) || ':' || sum(k) FROM :t WHERE k >= 0} ],
	[ 'index', 'SET enable_bitmapscan = off; SET enable_indexonlyscan = off;',
		q{SELECT count(id) || ':' || sum(id) FROM :t WHERE k BETWEEN 1000 AND 40000 AND l < 700} ],
	[ 'bitmap', 'SET enable_indexscan = off; SET enable_indexonlyscan = off;',
		q{SELECT count(id) || ':' || sum(id) FROM :t WHERE k <= 45000 AND l BETWEEN 100 AND 900} ],
	[ 'nulls', 'SET enable_bitmapscan = off;', q{SELECT count(id) || ':' || sum(id) FROM :t WHERE k IS NULL} ],
	[ 'count', '', q{SELECT count(*) FROM :t WHERE k BETWEEN 1000 AND 30000 AND l > 200} ],
	[ 'gpu.count', '', q{SELECT gpu.count(':t_i', ROW(1000, 201), ROW(30000))} ],);
my @writes = (
	[ 'insert', q{INSERT INTO :t SELECT id + 100000, k + 100000, l FROM rows WHERE id <= 1500} ],
	[ 'vacuum', q{DELETE FROM :t WHERE id % 50 = 7; VACUUM (INDEX_CLEANUP ON) :t} ],
	[ 'gpu.merge', q{SELECT count(*) >= 0 FROM gpu.merge(':t_i')} ],
	[ 'scan', q{SET enable_seqscan = off; SELECT count(*) >= 0 FROM :t WHERE k >= 0} ],);

sub conversation
{
	my ($t) = @_;
	my $reset = "RESET ALL; SET statement_timeout = '30s'; SET client_min_messages = warning;\n";
	my $text = "\\set VERBOSITY verbose\n$reset";
	my $ask = sub {
		my ($name, $statement) = @_;
		$text .= "\\echo <<$name\n$statement;\n\\echo >>:SQLSTATE\n";
	};
	$ask->('verify', q{SELECT count(*) FROM gpu.verify(':t_i', true)});
	$ask->('verify alone', q{SELECT count(*) FROM gpu.verify(':t_i', false)});
	foreach my $question (@questions)
	{
		$text .= "SET enable_seqscan = off; $question->[1]\n";
		$ask->($question->[0], $question->[2]);
		$text .= $reset;
	}
	$ask->(@$_) foreach @writes;
	$text .= $reset;
	$ask->('reindex', q{REINDEX INDEX :t_i});
	$ask->('mended', q{SELECT count(*) FROM gpu.verify(':t_i', true)});
	$text =~ s/:t(?![a-z])/$t/g;
	return $text;
}

$node->safe_psql('postgres', "CREATE TABLE sound AS SELECT * FROM $table{'no entries'};");
my %right;
foreach my $question (@questions)
{
	my ($name, undef, $statement) = @$question;
	$statement = $questions[4][2] if $name eq 'gpu.count';
	$statement =~ s/:t\b/sound/g;
	$right{$name} = sql_value($node, $statement);
}

foreach my $name (sort keys %faults)
{
	my $kind = $faults{$name}[0];
	my ($answer, $state, $err, @problems) = converse($node, conversation($table{$name}));
	my $found = ($state->{verify} // '') ne '00000' || ($answer->{verify} // 0) > 0;
	push @problems, 'gpu.verify found nothing' unless $found || $kind eq 'random';
	push @problems, 'gpu.verify gave up' if $kind ne 'random' && $name !~ /tail|words/ && ($state->{verify} // '') ne '00000';
	foreach my $question (@questions)
	{
		my $asked = $question->[0];
		next unless ($state->{$asked} // '') eq '00000' && $answer->{$asked} ne $right{$asked};
		push @problems, "$asked: $answer->{$asked} instead of $right{$asked}" if $kind eq 'loud';
		push @problems, "$asked: wrong, and gpu.verify found nothing" if $kind eq 'random' && !$found;
	}
	push @problems, 'not mended by REINDEX' unless ($state->{reindex} // '') eq '00000' && ($answer->{mended} // '') eq '0';

	my $now = alive_since($node);
	push @problems, 'the server crashed' if $now ne $started;
	$started = $now;
	is(join("\n", @problems), '', "$name ($kind)") or diag $err;
}

is(bad_log_lines($node), '', 'no process died');
$node->stop;
done_testing();
