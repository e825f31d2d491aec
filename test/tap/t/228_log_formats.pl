# suite: check
# What the server log says of the server process, and what the process says itself, is there in each format that PostgreSQL has: as text,
# as CSV and as JSON, with a level and the supervisor as its writer. A process that writes what it likes fills no log.

use strict;
use warnings FATAL => 'all';

use FindBin;
use JSON::PP qw(decode_json);
use lib "$FindBin::RealBin/../lib";
use PgGpuTest::Faults;
use PgGpuTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Socket;
use Test::More;

my $node = new_cluster('formats', conf => <<'CONF');
shared_preload_libraries = 'pg_gpu'
logging_collector = on
log_destination = 'stderr, csvlog, jsonlog'
log_directory = 'formats'
log_filename = 'log'
log_file_mode = 0644
pg_gpu.path = host
CONF
# PostgreSQL reads its own CSV.
$node->safe_psql('postgres', q{
	CREATE TABLE line (log_time timestamptz(3), user_name text, database_name text, process_id int, connection_from text, session_id text,
		session_line_num bigint, command_tag text, session_start_time timestamptz, virtual_transaction_id text, transaction_id bigint,
		error_severity text, sql_state_code text, message text, detail text, hint text, internal_query text, internal_query_pos int,
		context text, query text, query_pos int, location text, application_name text, backend_type text, leader_pid int, query_id bigint)});

my $folder = $node->data_dir . '/formats';
sub lines_of { my ($name) = @_; return -e "$folder/$name" ? split(/\n/, slurp_file("$folder/$name")) : (); }

# Level, writer and message of what each format says about the process.
sub by_json
{
	my @said;
	foreach my $text (lines_of('log.json'))
	{
		# The last one may be under way.
		my $line = eval { decode_json($text) } or next;
		push @said, join '|', @$line{qw(error_severity backend_type message)} if $line->{message} =~ /^pg_gpu server process/;
	}
	return @said;
}

sub by_csv
{
	return split /\n/, $node->safe_psql('postgres', "TRUNCATE line; COPY line FROM '$folder/log.csv' WITH (FORMAT csv);
		SELECT error_severity, backend_type, message FROM line WHERE message LIKE 'pg_gpu server process%' ORDER BY log_time, session_line_num");
}

# wait_for_server looks into the file that the collector doesn't write.
sub started
{
	my ($number) = @_;
	my @pids;
	wait_until(sub { @pids = map { /process (\d+) started/ } by_json(); return @pids >= $number; }) or die "no start $number is in the log";
	return $pids[$number - 1];
}

my $pid = started(1);
# What a process says comes later than that it was started.
sub says { my ($process, $what) = @_; return wait_until(sub { grep { /\|pg_gpu server process $process: $what/ } by_json() }); }
ok(says($pid, 'listening on'), 'what the process says is in the log');
kill('KILL', $pid) or die "cannot kill the server process: $!";
my $next = started(2);
ok(says($next, 'listening on'), 'also what the next one says');

my $writer = 'LOG\|pg_gpu supervisor\|pg_gpu server process';
my @json = by_json();
# Whether there is a device, and why not, the process says in a line of its own when it knows. That it isn't known yet, the line that says where
# it listens may mention as well.
my @said = grep { !/server process \d+: (?:no cuda engine|engine cuda)/ } @json;
like($said[0], qr/^$writer $pid started$/, 'JSON: a start, with level and writer');
like($said[1], qr/^$writer $pid: listening on "pgsql_tmp\.pg_gpu\.socket"; engine host: \d+ threads, limit \d+ MiB/, 'what it says');
like($said[2], qr/^$writer $pid ended: it stopped by itself, signal 9 .*; it is restarted in \d+ ms$/, 'an end');
like($said[3], qr/^$writer $next started$/, 'and the start after it');
ok(wait_until(sub { my %csv = map { $_ => 1 } by_csv(); return !grep { !$csv{$_} } @json; }), 'CSV says the same');
# Of each line the text is written last.
ok(wait_until(sub { my @lines = lines_of('log'); return !grep { my $line = (split /\|/)[2]; !grep { /LOG:  \Q$line\E/ } @lines } @json; }), 'and so does the text');

# A session that sends no hello: the process refuses it, which somebody should look at.
{
	socket(my $stranger, AF_UNIX, SOCK_SEQPACKET, 0) or die "no socket: $!";
	connect($stranger, pack_sockaddr_un($node->data_dir . '/pgsql_tmp.pg_gpu.socket')) or die "cannot connect: $!";
	send($stranger, 'good day', 0) or die "cannot send: $!";
	ok(wait_until(sub { grep { /^WARNING\|pg_gpu supervisor\|pg_gpu server process $next: process $$ sent something else than hello: its connection is closed$/ } by_json() }),
		'what somebody should look at is a warning');
}
$node->stop;
ok((grep { /^$writer $next: stopping: asked to stop$/ } by_json()), 'the last words of a process that ends');

# A process that writes at length, and bytes that are no text, and once it has ended is itself.
my $talker = PostgreSQL::Test::Utils::tempdir . '/talker';
append_to_file($talker, sprintf(<<'PERL', PgGpuTest::configured('--pkglibdir')));
#!/usr/bin/perl
use strict;
use warnings;
use Fcntl;

exec '%s/pg_gpu_server', @ARGV if -e 'has_talked';
open my $file, '>', 'has_talked' or die;
# All of it is to be read.
fcntl(STDERR, F_SETFL, 0) or die;
syswrite(STDERR, $_) for "<4>a warning\n<7>for those who debug\nof a library\n\n<9>no level\n", "caf\xe9\x01\x00\tend\n", '<6>' . 'x' x 3000 . "\n",
	map({ "<6>line $_\n" } 1 .. 5000), 'the last words';
PERL
chmod 0755, $talker or die "cannot change the mode of $talker: $!";
{
	local $ENV{PG_GPU_SERVER} = $talker;
	$node->start;
}
ok(says('\d+', 'a warning'), 'a process that talks');
my ($talkative) = map { /process (\d+): a warning/ } by_json();
ok(says('\d+', '\d+ further lines were left out'), 'lines of a process that writes at length are left out');
ok(wait_until(sub { grep { /process $talkative ended/ } by_json() }), 'and its end is told');
@said = map { /^(\w+)\|pg_gpu supervisor\|pg_gpu server process $talkative: (.*)/ ? "$1: $2" : () } by_json();
is_deeply([ @said[ 0 .. 3 ] ], [ 'WARNING: a warning', 'LOG: of a library', 'LOG: <9>no level', 'LOG: caf??? end' ], 'levels, and bytes that could be anything');
like($said[4], qr/^LOG: x{1020}$/, 'a long line is cut');
my @numbers = map { /: line (\d+)$/ } @said;
my $left_out = 0;
/: (\d+) further lines were left out$/ and $left_out += $1 for @said;
# A warning, the debug level's, two without a level, one of bytes and a long one, 5,000 and the last: it may be that a second period begins among them.
is(6 + @numbers + $left_out + grep({ /: the last words$/ } @said), 5007, 'each line was told or counted');
cmp_ok(scalar @numbers, '<=', 200, 'a hundred of them in ten seconds');
is(join(' ', @numbers[ 0 .. 9 ]), '1 2 3 4 5 6 7 8 9 10', 'the first ones');
like(slurp_file("$folder/log"), qr/$talkative: \d+ further lines were left out\n.*DETAIL:  The last of them was "the last words"\.\n/, 'and what it said last is told');
ok(wait_until(sub { $node->safe_psql('postgres', 'SELECT state FROM gpu.server') eq 'running' }), 'the supervisor has a server process again');

$node->stop;
done_testing();
