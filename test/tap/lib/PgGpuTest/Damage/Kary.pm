# gpu_kary: planted faults of every kind, those of the parts that all access methods share among them.
package PgGpuTest::Damage::Kary;

use strict;
use warnings FATAL => 'all';

use parent 'PgGpuTest::Damage';
use PgGpuTest::Damage;
use PgGpuTest::Faults;
use PgGpuTest;

# Where things lie, as src/storage/format.h and src/kary/layout.h have them.
use constant {
	STAMP => 8192 - 16,
	LEAF => 582,    # entries of a full leaf page with 8-byte keys
};

sub name { return 'gpu_kary'; }
sub flips { return few_or_many(8, rounds(12, 400)); }

sub rows
{
	return q{
CREATE TABLE rows AS SELECT i AS id, CASE WHEN i % 101 = 0 THEN NULL ELSE (i * 7919 % 50021)::int8 END AS k
	FROM generate_series(1, 12000) AS i;
};
}

# The index has one run from the build with dead entries in it, sealed ones, and a tail.
sub table
{
	return q{
CREATE TABLE :t (id int8, k int8);
INSERT INTO :t SELECT * FROM rows WHERE id <= 10000;
CREATE INDEX :t_i ON :t USING gpu_kary (k);
DELETE FROM :t WHERE id BETWEEN 3000 AND 3200;
VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) :t;
INSERT INTO :t SELECT * FROM rows WHERE id > 10000 AND id <= 11700;
};
}

sub leaf_block { my ($run, $leaf) = @_; return section_block($run, 1, $leaf); }

# Changes a field of the built run's entry in the directory.
sub change_entry
{
	my ($file, $offset, $length, $new) = @_;
	my $run = built_run($file);
	change($file, 0, $run->{at} + $offset, $length, $new);
	return;
}

# Flips one bit of a 4-byte field.
sub flip { my ($bit) = @_; return sub { return pack('V', unpack('V', $_[0]) ^ (1 << $bit)) }; }

my %faults = (
	'magic number' => [ 'refused', sub { change($_[0], 0, CONTENT, 4, flip(3)) } ],
	'format version' => [ 'refused', sub { change($_[0], 0, CONTENT + 4, 2, pack('v', 77)) } ],
	'another kind of index' => [ 'refused', sub { change($_[0], 0, CONTENT + 8, 4, flip(5)) } ],
	'metapage zeroed' => [ 'refused', sub { write_page($_[0], 0, "\0" x BLOCK_SIZE) } ],
	'metapage is another page' => [ 'refused', sub { write_page($_[0], 0, read_page($_[0], 1)) } ],
	'more runs than listed' => [ 'refused', sub { change($_[0], 0, CONTENT + 6, 2, pack('v', 60)) } ],
	'runs beyond the page' => [ 'refused', sub { change($_[0], 0, CONTENT + 6, 2, pack('v', 0x7fff)) } ],
	'chained runs that are not there' => [ 'refused', sub { change($_[0], 0, CONTENT + 48, 4, pack('V', 5)) } ],
	'length of the metapage' => [ 'refused', sub { change($_[0], 0, 12, 2, pack('v', 8190)) } ],
	'metapage shorter than its runs' => [ 'refused', sub { change($_[0], 0, 12, 2, pack('v', META_RUNS)) } ],
	'file of no length' => [ 'refused', sub { truncate($_[0], 0) || die $! } ],

	'no room for a tail' => [ 'refused', sub { truncate($_[0], BLOCK_SIZE) || die $! } ],
	'more chained runs than the file has room for' => [ 'refused', sub {
		change($_[0], 0, CONTENT + 48, 8, pack('VV', 0x7fffffff, 5)) } ],
	'directory chain that leads nowhere' => [ 'refused', sub { change($_[0], 0, CONTENT + 48, 8, pack('VV', 5, 1_000_000)) } ],
	'directory chain without runs' => [ 'refused', sub { change($_[0], 0, CONTENT + 52, 4, pack('V', 5)) } ],
	'directory chain into a run' => [ 'loud', sub {
		change($_[0], 0, CONTENT + 48, 8, pack('VV', 5, leaf_block(built_run($_[0]), 2))) } ],
	'tail zeroed' => [ 'loud', sub { write_page($_[0], 1, "\0" x BLOCK_SIZE) } ],
	'tail is another page' => [ 'loud', sub {
		write_page($_[0], 1, read_page($_[0], leaf_block(built_run($_[0]), 0))) } ],
	'length of the tail' => [ 'loud', sub { change($_[0], 1, 12, 2, pack('v', 8190)) } ],
	'negative length of the tail' => [ 'loud', sub { change($_[0], 1, 12, 2, pack('v', 3)) } ],
	'tail item of no size' => [ 'silent', sub { change($_[0], 1, CONTENT + 6, 2, pack('v', 0)) } ],
	'tail items too small' => [ 'silent', sub {
		change($_[0], 1, CONTENT + 16 * $_ + 6, 2, pack('v', 8)) foreach (0 .. 20) } ],
	'tail item too large' => [ 'silent', sub { change($_[0], 1, CONTENT + 6, 2, pack('v', 0x3fff)) } ],
	'last pages cut off' => [ 'loud', sub { truncate($_[0], (index_blocks($_[0]) - 2) * BLOCK_SIZE) || die $! } ],
	'half of the file cut off' => [ 'loud', sub {
		truncate($_[0], int(index_blocks($_[0]) / 2) * BLOCK_SIZE) || die $! } ],
	'file that ends within a page' => [ 'loud', sub { truncate($_[0], (-s $_[0]) - 5000) || die $! } ],
	'leaf zeroed' => [ 'loud', sub { write_page($_[0], leaf_block(built_run($_[0]), 3), "\0" x BLOCK_SIZE) } ],
	'run id of a leaf' => [ 'loud', sub { change($_[0], leaf_block(built_run($_[0]), 3), STAMP, 4, flip(9)) } ],
	'position of a leaf' => [ 'loud', sub { change($_[0], leaf_block(built_run($_[0]), 4), STAMP + 8, 4, flip(0)) } ],
	'kind of a leaf' => [ 'loud', sub { change($_[0], leaf_block(built_run($_[0]), 0), STAMP + 12, 2, pack('v', 4)) } ],
	'two leaves exchanged' => [ 'loud', sub {
		my ($one, $two) = map { leaf_block(built_run($_[0]), $_) } (2, 6);
		my ($first, $second) = map { read_page($_[0], $_) } ($one, $two);
		write_page($_[0], $one, $second);
		write_page($_[0], $two, $first) } ],
	'length of a leaf' => [ 'loud', sub { change($_[0], leaf_block(built_run($_[0]), 1), 12, 2, pack('v', 100)) } ],
	'separator page zeroed' => [ 'loud', sub {
		my $run = built_run($_[0]);
		write_page($_[0], section_block($run, 2), "\0" x BLOCK_SIZE) } ],
	'dead bitmap zeroed' => [ 'loud', sub {
		my $run = built_run($_[0]);
		write_page($_[0], section_block($run, 0), "\0" x BLOCK_SIZE) } ],

	# The run directory.
	'place of the dead bitmap' => [ 'loud', sub { change_entry($_[0], 120, 4, pack('V', 0x7ffffff0)) } ],
	'dead bitmap over the end of its page' => [ 'loud', sub { change_entry($_[0], 120, 4, pack('V', 8190)) } ],
	'number of extents' => [ 'loud', sub { change_entry($_[0], 116, 2, pack('v', 60000)) } ],
	'extent behind the end of the file' => [ 'loud', sub { change_entry($_[0], 48, 4, pack('V', 1_000_000)) } ],
	'extent that wraps' => [ 'loud', sub { change_entry($_[0], 48, 4, pack('V', 0xfffffff0)) } ],
	# Were it counted as used, each block by which the file grows would be its own, and an INSERT would fill the disk.
	'extent that goes on behind the end of the file' => [ 'loud', sub { change_entry($_[0], 52, 4, pack('V', 0xff000000)) } ],
	'extent over the metapage' => [ 'loud', sub { change_entry($_[0], 48, 4, pack('V', 0)) } ],
	'run within another' => [ 'loud', sub {
		my ($one, $two) = listed_runs($_[0]);
		change($_[0], 0, $two->{at} + 48, 4, pack('V', $one->{blocks}[0])) } ],
	'entries, too many' => [ 'loud', sub { change_entry($_[0], 16, 8, pack('Q<', 1 << 40)) } ],
	'entries, one leaf more' => [ 'loud', sub { change_entry($_[0], 16, 8, sub { pack('Q<', unpack('Q<', $_[0]) + LEAF) }) } ],
	'keys, more than entries' => [ 'loud', sub { change_entry($_[0], 32, 8, sub { pack('Q<', unpack('Q<', $_[0]) + LEAF) }) } ],
	'section behind the run' => [ 'loud', sub { change_entry($_[0], 88, 4, pack('V', 5000)) } ],
	'pages of a run' => [ 'loud', sub { change_entry($_[0], 112, 4, flip(4)) } ],
	'run listed twice' => [ 'silent', sub {
		my ($one, $two) = listed_runs($_[0]);
		change($_[0], 0, $two->{at}, RUN_ENTRY, substr(read_page($_[0], 0), $one->{at}, RUN_ENTRY)) } ],
	'dead entries, too many counted' => [ 'silent', sub { change_entry($_[0], 24, 8, pack('Q<', 5000)) } ],
	'more dead than entries' => [ 'loud', sub { change_entry($_[0], 24, 8, pack('Q<', 50_000)) } ],
	# A crash can leave reservations behind the end of the file: nothing counts that lies there.
	'reservation behind the end of the file' => [ 'unused', sub { change($_[0], 0, CONTENT + 56, 8, pack('VV', 60_000_000, 5)) } ],
	'reservation over the metapage' => [ 'loud', sub { change($_[0], 0, CONTENT + 56, 8, pack('VV', 0, 5)) } ],
	'reservation of what the file grows by' => [ 'unused', sub {
		change($_[0], 0, CONTENT + 56, 8, pack('VV', index_blocks($_[0]), 0xff000000)) } ],
	'reservation that wraps' => [ 'unused', sub {
		change($_[0], 0, CONTENT + 88, 8, pack('VV', index_blocks($_[0]) - 1, 0xfffffff0)) } ],

	# Entries that lie.
	'dead bit of a live entry' => [ 'silent', sub {
		my $run = built_run($_[0]);
		change($_[0], section_block($run, 0), $run->{bitmap_offset} + 3, 1, "\xff") } ],
	'two keys exchanged' => [ 'silent', sub {
		change($_[0], leaf_block(built_run($_[0]), 5), CONTENT, 16 * 8,
			sub { substr($_[0], 15 * 8) . substr($_[0], 8, 14 * 8) . substr($_[0], 0, 8) }) } ],
	'key changed' => [ 'silent', sub { change($_[0], leaf_block(built_run($_[0]), 5), CONTENT + 80, 1, sub { $_[0] ^ "\x01" }) } ],
	'TID behind the end of the table' => [ 'silent', sub {
		change($_[0], leaf_block(built_run($_[0]), 5), CONTENT + LEAF * 8 + 60, 4, pack('vv', 3, 7)) } ],
	'TID a little behind the end of the table' => [ 'silent', sub {
		change($_[0], leaf_block(built_run($_[0]), 5), CONTENT + LEAF * 8 + 60, 4, pack('vv', 0, 1000)) } ],
	'TID without a row' => [ 'silent', sub {
		change($_[0], leaf_block(built_run($_[0]), 5), CONTENT + LEAF * 8 + 64, 2, pack('v', 290)) } ],
	'TID of line number 0' => [ 'silent', sub {
		change($_[0], leaf_block(built_run($_[0]), 5), CONTENT + LEAF * 8 + 64, 2, pack('v', 0)) } ],
	'TID of another row' => [ 'silent', sub {
		change($_[0], leaf_block(built_run($_[0]), 5), CONTENT + LEAF * 8 + 60, 6,
			substr(read_page($_[0], leaf_block(built_run($_[0]), 6)), CONTENT + LEAF * 8 + 60, 6)) } ],
	'separator changed' => [ 'silent', sub {
		my $run = built_run($_[0]);
		change($_[0], section_block($run, 2), CONTENT + 5 * 8, 8, pack('Q<', 0)) } ],
	'key in the tail' => [ 'silent', sub { change($_[0], 1, CONTENT + 8, 1, sub { $_[0] ^ "\x01" }) } ],
	'TID in the tail' => [ 'silent', sub { change($_[0], 1, CONTENT + 4, 2, pack('v', 290)) } ],);

# What gpu.verify must say of some faults: the first row's block and problem.
my %problems = (
	'magic number' => "0: The metapage's magic number is wrong.",
	'format version' => "0: The metapage has another on-disk format version.",
	'another kind of index' => "0: The metapage belongs to another kind of index.",
	'metapage zeroed' => "0: The metapage is empty or not a metapage.",
	'metapage is another page' => "0: The metapage's magic number is wrong.",
	'more runs than listed' => "0: The run directory's length is wrong.",
	'runs beyond the page' => "0: The run directory's length is wrong.",
	'chained runs that are not there' => "0: The chained run directory's length or place is wrong.",
	'metapage shorter than its runs' => "0: The run directory's length is wrong.",
	'file of no length' => "0: The file ends before the metapage or the tail.",
	'extent behind the end of the file' => "1000000: A run's page lies beyond the end of the file.",
	'entries, too many' => "0: An entry of the run directory is not sound.",
	'tail zeroed' => "1: The tail page is damaged.",
	'no room for a tail' => "1: The file ends before the metapage or the tail.",
	'more chained runs than the file has room for' => "0: The chained run directory's length or place is wrong.",
	'directory chain that leads nowhere' => "0: The chained run directory's length or place is wrong.",
	'directory chain without runs' => "0: The chained run directory's length or place is wrong.",
	'reservation over the metapage' => "0: Two extents overlap.",);

sub faults { return %faults; }
sub problem { my (undef, $name) = @_; return $problems{$name}; }
sub complaint { my (undef, $name) = @_; return $name eq 'format version' ? qr/ERROR: .*version 77.*version \d+/ : undef; }

# Flips a few bytes anywhere in the file, in the metapage and the tail more often than their share.
sub random_fault
{
	my @where = map {
		my $bits = random_int(1, 255);
		[ rand() < 0.3 ? 0 : rand() < 0.2 ? TAIL : undef, rand(), $bits ]
	} (1 .. random_int(1, 6));
	return sub {
		my ($file) = @_;
		flip_anywhere($file, @$_) foreach @where;
	};
}

my $through_index = 'SET enable_sort = off;';
my @questions = (
	[ 'index-only', $through_index . ' SET enable_bitmapscan = off;', q{SELECT count(k) || ':' || sum(k) FROM :t WHERE k >= 0} ],
	[ 'index', $through_index . ' SET enable_bitmapscan = off; SET enable_indexonlyscan = off;',
		q{SELECT count(id) || ':' || sum(id) FROM :t WHERE k BETWEEN 1000 AND 40000} ],
	[ 'backwards', $through_index . ' SET enable_bitmapscan = off; SET enable_indexonlyscan = off;',
		q{SELECT md5(string_agg(k::text, ',')) FROM (SELECT k FROM :t WHERE k > 20000 ORDER BY k DESC OFFSET 0) AS s} ],
	[ 'bitmap', $through_index . ' SET enable_indexscan = off; SET enable_indexonlyscan = off;',
		q{SELECT count(id) || ':' || sum(id) FROM :t WHERE k <= 45000} ],
	[ 'array', $through_index . ' SET enable_bitmapscan = off;',
		q{SELECT count(id) || ':' || sum(id) FROM :t WHERE k = ANY (ARRAY(SELECT k FROM rows WHERE id % 3 = 0))} ],
	[ 'nulls', $through_index . ' SET enable_bitmapscan = off;', q{SELECT count(id) || ':' || sum(id) FROM :t WHERE k IS NULL} ],
	[ 'gpu.count', $through_index, q{SELECT gpu.count(':t_i', ARRAY[1000::int8], ARRAY[30000::int8])},
		'SELECT count(*) FROM :t WHERE k BETWEEN 1000 AND 30000' ],
	[ 'gpu.lookup', $through_index, q{SELECT count(*) FROM gpu.lookup(':t_i', ARRAY(SELECT k FROM rows WHERE id % 2 = 0))},
		'SELECT count(*) FROM :t JOIN rows USING (k) WHERE rows.id % 2 = 0' ],);
my @writes = (
	[ 'gpu.runs', q{SELECT count(*) > 0 FROM gpu.runs(':t_i')} ],
	[ 'analyze', q{ANALYZE :t} ],
	[ 'one insert', q{INSERT INTO :t VALUES (0, 0)} ],
	[ 'insert', q{INSERT INTO :t SELECT id + 100000, k + 100000 FROM rows WHERE id <= 1500} ],);

sub questions { return @questions; }
sub writes { return @writes; }

1;
