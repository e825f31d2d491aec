# Helpers of the tests of the server process and its supervisor.
package PgGpuTest::Server;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use PgGpuTest::Faults;
use PgGpuTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

our @EXPORT = qw(
  HOST SOCKET
  supervisor_pid server_pid wait_for_server wait_for_log log_count
  read_log open_descriptors sockets resident_kib size_kib mirrors answers_by
  under_load set_host_limit server_with
);

# A psql option that makes every request go to the host engine.
use constant HOST => '-c pg_gpu.path=host';
use constant SOCKET => 'pgsql_tmp.pg_gpu.socket';

# Finds it among the postmaster's children, since pg_stat_activity shows no worker without a database connection.
sub _children
{
	my ($parent) = @_;
	my @children;
	foreach my $stat (glob('/proc/[0-9]*/stat'))
	{
		open my $file, '<', $stat or next;
		my $line = <$file> // '';
		close $file;
		push @children, $1 if $line =~ /^(\d+) \(.*\) ([^ZX]) (\d+)/s && $3 == $parent;
	}
	return @children;
}

# Makes a program for PG_GPU_SERVER: it starts the installed server process with these options behind its own, after a
# command of the shell's.
sub server_with
{
	my ($options, $before) = @_;
	my $folder = PgGpuTest::configured('--pkglibdir');
	my $program = PostgreSQL::Test::Utils::tempdir() . '/pg_gpu_server';
	append_to_file($program, "#!/bin/sh\n" . ($before // '') . "\nexec '$folder/pg_gpu_server' \"\$@\" $options\n");
	chmod 0755, $program or die "cannot change the mode of $program: $!";
	return $program;
}

sub _command_line
{
	my ($pid) = @_;
	open my $file, '<', "/proc/$pid/cmdline" or return '';
	my $line = <$file> // '';
	close $file;
	$line =~ tr/\0/ /;
	return $line;
}

# These return process ids, or 0 when there is no such process.
sub supervisor_pid
{
	my ($node) = @_;
	my $path = $node->data_dir . '/postmaster.pid';
	return 0 unless -e $path;
	my ($postmaster) = split /\n/, slurp_file($path);
	my ($pid) = grep { _command_line($_) =~ /pg_gpu supervisor/ } _children($postmaster);
	return $pid // 0;
}

sub server_pid
{
	my ($node) = @_;
	my $supervisor = supervisor_pid($node) or return 0;
	my ($pid) = _children($supervisor);
	return $pid // 0;
}

# Waits for a server process that answers, other than $old where it is given, and returns its id.
sub wait_for_server
{
	my ($node, $old) = @_;
	my $pid = 0;
	wait_until(
		sub {
			$pid = server_pid($node);
			return $pid && $pid != ($old // 0) && slurp_file($node->logfile) =~ /pg_gpu server process $pid: listening/;
		}) or diag "no server process\n" . slurp_file($node->logfile);
	return $pid;
}

sub read_log
{
	my ($node, $from) = @_;
	return slurp_file($node->logfile, $from);
}

sub log_count
{
	my ($node, $pattern, $from) = @_;
	my @lines = grep { /$pattern/ } split /\n/, slurp_file($node->logfile, $from);
	return scalar @lines;
}

# Waits for a line of the log behind byte $from.
sub wait_for_log
{
	my ($node, $pattern, $from) = @_;
	return wait_until(sub { log_count($node, $pattern, $from) > 0 });
}

# Counts the descriptors of a process that are sockets, memfds and the like. Files of relations don't count, because
# PostgreSQL opens them as it needs them.
sub open_descriptors
{
	my ($pid) = @_;
	my @descriptors = grep { (readlink($_) // '') =~ /^(?:socket|pipe|anon_inode|\/memfd)/ } glob("/proc/$pid/fd/*");
	return scalar @descriptors;
}

# Counts the sockets of a process. Of a server process that nobody is connected to two are left: the one that listens, and the
# supervisor's connection.
sub sockets { my ($pid) = @_; return scalar grep { (readlink($_) // '') =~ /^socket/ } glob("/proc/$pid/fd/*"); }

# Returns the anonymous memory of a process, in KiB.
sub resident_kib { my ($pid) = @_; return _status_kib($pid, 'RssAnon'); }

# Returns the kibibytes of addresses that a process has.
sub size_kib { my ($pid) = @_; return _status_kib($pid, 'VmSize'); }

sub _status_kib
{
	my ($pid, $name) = @_;
	return slurp_file("/proc/$pid/status") =~ /^$name:\s+(\d+)/m ? $1 : die "no $name of $pid";
}

# Returns how many mirrors there are.
sub mirrors
{
	my ($node, $database) = @_;
	return $node->safe_psql($database // 'postgres', 'SELECT count(*) FROM gpu.mirrors');
}

# Returns how many requests the host engine answered for a query that runs under `path` in a session of its own.
sub answers_by
{
	my ($node, $query, %params) = @_;
	my $rows = $node->safe_psql('postgres', qq{
SET client_min_messages = error;
SET pg_gpu.path = $params{path};
SELECT gpu.stat_reset();
CREATE TEMP TABLE answer AS $query;
SELECT coalesce(sum(requests), 0) FROM gpu.stat WHERE path = 'host' AND request IN ('lookup', 'range', 'count');
});
	my @lines = split /\n/, $rows;
	return $lines[-1];
}

# Runs clients while `disturb` is called again and again, at least twice; then everything must be as if nothing had been. The load:
#   start    => starts the clients, which it returns, for as many seconds as it is told
#   seconds  => for how long
#   loaded   => an index that can be loaded afterwards
#   check    => looks whether all is right
# Options: `errors`, patterns of those that the clients may meet; `settle`, what ends the disturbance; `seconds`, another time;
# `times`, how often it is called at least.
sub under_load
{
	my ($node, $name, $load, $disturb, %params) = @_;
	note $name;
	my $seconds = $params{seconds} // $load->{seconds};
	my @runs = $load->{start}->($seconds);
	my $end = time() + $seconds;
	my $times = 0;
	while (time() < $end || $times < ($params{times} // 2))
	{
		usleep(random_int(50_000, 400_000));
		$disturb->();
		$times++;
	}
	finish_clients($_) foreach @runs;
	$params{settle}->() if $params{settle};
	is(client_errors(\@runs, @{ $params{errors} // [] }), '', "$name: every statement was answered, and rightly");
	cmp_ok(client_transactions(\@runs), '>', 0, "$name: the clients had work going");
	is(bad_log_lines($node), '', "$name: PostgreSQL did not restart");
	ok(wait_until(sub { sql($node, "SET pg_gpu.path = " . ($load->{path} // 'host') . "; SELECT gpu.load('$load->{loaded}')")->{code} eq '' }, 100_000),
		"$name: there is a server process afterwards, and it loads");
	$load->{check}->($name);
	return;
}

sub set_host_limit
{
	my ($node, $limit) = @_;
	# PostgreSQL checks the setting only once the library is loaded.
	$node->safe_psql('postgres', "LOAD 'pg_gpu'; ALTER SYSTEM SET pg_gpu.host_memory_limit = '$limit'");
	$node->reload;
	return;
}

1;
