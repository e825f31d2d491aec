# suite: check
# What the kernel may put in the server process's way: a process that doesn't end when it is killed, a file system without
# locks, and a container's profile that refuses new system calls.

use strict;
use warnings FATAL => 'all';

use Config;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest;
use PgGpuTest::Faults;
use PgGpuTest::Server;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $table = q{
CREATE EXTENSION IF NOT EXISTS pg_gpu;
CREATE TABLE t AS SELECT i AS k FROM generate_series(1, 20000::bigint) AS i;
CREATE INDEX t_k ON t USING gpu_kary (k);
VACUUM t;
};
my $question = q{SELECT count(*) FROM gpu.lookup('t_k', ARRAY(SELECT generate_series(1, 3000::bigint)))};

# ---- a process that doesn't end ------------------------------------------------------------------------------

# A process that somebody traces is no zombie that its parent could reap before the tracer has seen its end: to the
# supervisor it looks like one in uninterruptible sleep. Returns the tracer, which never looks.
sub trace
{
	my ($pid) = @_;
	my ($seize, $call) = (0x4206, 101);
	return 0 unless $Config{archname} =~ /^x86_64/;
	pipe(my $read, my $write) or die "pipe: $!";
	my $tracer = fork() // die "fork: $!";
	if ($tracer == 0)
	{
		close $read;
		# Who ignores this signal, as its caller may have made it do, has looked at every end that there is.
		$SIG{CHLD} = 'DEFAULT';
		my $traced = syscall($call, $seize, $pid, 0, 0) == 0 ? 1 : 0;
		syswrite($write, $traced);
		sleep 600 if $traced;
		require POSIX;
		POSIX::_exit(0);
	}
	close $write;
	sysread($read, my $traced, 1);
	close $read;
	return $tracer if $traced;
	waitpid($tracer, 0);
	return 0;
}

my $node = new_node('obstacles', conf => "pg_gpu.path = host\npg_gpu.request_timeout = 60s\n");
$node->safe_psql('postgres', $table);
is($node->safe_psql('postgres', $question), 3000, 'there is a server process');
SKIP:
{
	my $server = wait_for_server($node);
	my $tracer = trace($server);
	skip 'processes may not be traced here', 4 unless $tracer;
	my $from = -s $node->logfile;
	kill 'TERM', supervisor_pid($node);
	ok(wait_for_log($node, qr/pg_gpu server process $server does not end/, $from), 'the supervisor goes without its end');
	ok(wait_until(sub { supervisor_pid($node) == 0 }), 'and ends itself');
	is($node->safe_psql('postgres', $question), 3000, 'statements are answered');
	kill 'KILL', $tracer;
	waitpid($tracer, 0);

	# PostgreSQL's own shutdown must not be held up by that, either.
	my $next = wait_for_server($node, $server);
	$tracer = trace($next) or die 'the second server process could not be traced';
	ok($node->stop('fast'), 'a fast shutdown ends');
	kill 'KILL', $tracer;
	waitpid($tracer, 0);
	$node->start;
}

# ---- no locks, no pidfd_open ---------------------------------------------------------------------------------

my $folder = PostgreSQL::Test::Utils::tempdir;
append_to_file("$folder/refuse.c", <<'C');
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/syscall.h>

enum { getlk = 5, setlk = 6, setlkw = 7 };

static int pass(const char *name, int fd, int command, void *argument)
{
	int (*next)(int, int, ...) = (int (*)(int, int, ...)) dlsym(RTLD_NEXT, name);
	if (command >= getlk && command <= setlkw)
	{
		errno = ENOLCK;
		return -1;
	}
	return next(fd, command, argument);
}

#define FORWARD(name) \
	int name(int fd, int command, ...) \
	{ \
		va_list list; \
		va_start(list, command); \
		void *argument = va_arg(list, void *); \
		va_end(list); \
		return pass(#name, fd, command, argument); \
	}
FORWARD(fcntl)
FORWARD(fcntl64)

long syscall(long number, ...)
{
	long (*next)(long, ...) = (long (*)(long, ...)) dlsym(RTLD_NEXT, "syscall");
	long a[6];
	va_list list;
	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_pidfd_open)
	{
		errno = EPERM;
		return -1;
	}
	return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
C
SKIP:
{
	skip 'there is no C compiler', 3
	  if system("cc -shared -fPIC -o $folder/refuse.so $folder/refuse.c -ldl >$folder/cc.log 2>&1") != 0;
	$node->stop('fast');
	{
		local $ENV{LD_PRELOAD} = "$folder/refuse.so";
		$node->start;
	}
	my $from = -s $node->logfile;
	is($node->safe_psql('postgres', $question), 3000, 'without locks and pidfd_open statements are answered');
	my $server = wait_for_server($node);
	ok($server, 'and there is a server process');
	# Many sessions that want a server process must not start a second one.
	$node->safe_psql('postgres', $question) foreach 1 .. 5;
	is(server_pid($node), $server, 'which stays the only one');
	$node->stop('fast');
	$node->start;
}

$node->stop;
done_testing();
