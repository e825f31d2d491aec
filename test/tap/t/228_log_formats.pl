# suite: check
# What the server log says of the server process is there in each format that PostgreSQL has: as text, as CSV and as JSON, with a
# level and the supervisor as its writer. The process's own lines are text, in the file of stderr.

use strict;
use warnings FATAL => 'all';

use FindBin;
use JSON::PP qw(decode_json);
use lib "$FindBin::RealBin/../lib";
use PgGpuTest::Faults;
use PgGpuTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
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
kill('KILL', $pid) or die "cannot kill the server process: $!";
my $next = started(2);
# Of each line the text is written last, and the process writes its own when it likes.
my $telling = qr/LOG:  pg_gpu server process \d+ (?:started|ended)/;
ok(wait_until(sub { my @lines = lines_of('log'); return grep({ /$telling/ } @lines) >= 3 && grep { /\[$next\] pg_gpu_server: listening/ } @lines; }),
	'the text tells of both starts, and the process writes its own lines as text');

my $writer = 'LOG\|pg_gpu supervisor\|';
my @json = by_json();
like($json[0], qr/^${writer}pg_gpu server process $pid started$/, 'JSON: a start, with level and writer');
like($json[1], qr/^${writer}pg_gpu server process $pid ended: it stopped by itself, signal 9 .*; it is restarted in \d+ ms$/, 'an end');
like($json[2], qr/^${writer}pg_gpu server process $next started$/, 'and the start after it');
is_deeply([ by_csv() ], \@json, 'CSV says the same');
is(scalar(grep { /$telling/ } lines_of('log')), 3, 'the text says so once');
is(scalar(grep { /pg_gpu_server: / } lines_of('log.csv'), lines_of('log.json')), 0, 'which are nowhere else');

$node->stop;
done_testing();
