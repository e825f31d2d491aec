"""The private cluster that is measured, and the two ways of talking to it: psql sessions and pgbench."""

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import tempfile
import time

# A statement that hangs must end the benchmark, not hold it for ever.
STATEMENT_TIMEOUT = '30min'


class Failure(Exception):
    """Something that makes a measurement worthless: an error, a wrong plan, a wrong answer."""


def pg_config(option):
    command = os.environ.get('PG_CONFIG', 'pg_config')
    try:
        return subprocess.run([command, option], check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError) as error:
        raise Failure(f'{command} {option} failed. Hint: contrib/scripts/install-dependencies --for bench '
                      'installs PostgreSQL; PG_CONFIG names another one.') from error


def memory_of_machine():
    with open('/proc/meminfo', encoding='ascii') as file:
        for line in file:
            if line.startswith('MemTotal:'):
                return int(line.split()[1]) * 1024
    raise Failure('/proc/meminfo has no MemTotal')


class Session:
    """One psql process, kept open, so that each statement finds a backend with warm caches."""

    MARK = 'end-of-statement'

    def __init__(self, server, database):
        self.database = database
        self.backend_pid = None
        self.errors = tempfile.TemporaryFile(mode='w+', encoding='utf-8')
        # The process is ended by close().
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            [server.program('psql'), '-XqAt', '-v', 'ON_ERROR_STOP=1'],
            env=server.environment(database), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self.errors, text=True, bufsize=1)
        self.send('\\timing on')
        self.run(f"SET statement_timeout = '{STATEMENT_TIMEOUT}'")

    def send(self, line):
        """Sends one psql line; returns what it printed and the milliseconds that psql measured."""
        rows, milliseconds = [], None
        try:
            self.process.stdin.write(f'{line}\n\\echo {self.MARK}\n')
            self.process.stdin.flush()
        except BrokenPipeError:
            self.fail(line)
        while True:
            answer = self.process.stdout.readline()
            if not answer:
                self.fail(line)
            answer = answer.rstrip('\n')
            if answer == self.MARK:
                return rows, milliseconds
            if answer.startswith('Time: ') and answer.split()[2] == 'ms':
                milliseconds = float(answer.split()[1])
            else:
                rows.append(answer)

    def fail(self, line):
        self.process.wait()
        self.errors.seek(0)
        raise Failure(f'{self.errors.read().strip()}\n  in: {line[:500]}')

    def timed(self, sql):
        """Runs one statement; returns its rows and the milliseconds that the client waited."""
        return self.send(' '.join(sql.split()) + ';')

    def run(self, sql):
        return self.timed(sql)[0]

    def value(self, sql):
        rows = self.run(sql)
        if len(rows) != 1:
            raise Failure(f'{len(rows)} rows instead of one\n  in: {sql}')
        return rows[0]

    def settings(self, settings):
        """Forgets settings and prepared statements of before, and applies these settings."""
        self.run('DEALLOCATE ALL')
        self.run('RESET ALL')
        self.run(f"SET statement_timeout = '{STATEMENT_TIMEOUT}'")
        for name, value in settings.items():
            self.run(f"SET {name} = '{value}'")

    def plan(self, sql):
        """The plan as a flat list of nodes."""
        (tree,) = json.loads('\n'.join(self.run(f'EXPLAIN (FORMAT JSON, COSTS OFF) {sql}')))
        nodes, waiting = [], [tree['Plan']]
        while waiting:
            node = waiting.pop()
            waiting += node.get('Plans', [])
            nodes.append(node)
        return nodes

    def backend(self):
        if self.backend_pid is None:
            self.backend_pid = int(self.value('SELECT pg_backend_pid()'))
        return self.backend_pid

    def processor_ms(self):
        """What this backend has used of a processor since it started."""
        return processor_ms(self.backend())

    def close(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            self.process.wait()
        self.process.stdout.close()
        self.errors.close()


class Server:
    """A cluster of its own, made by contrib/scripts/private-cluster."""

    SCRIPT = os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', '..', 'contrib', 'scripts',
                          'private-cluster')

    def __init__(self, directory, user_settings=()):
        self.directory = directory
        self.bindir = pg_config('--bindir')
        self.user_settings = dict(user_settings)
        self.sessions = {}
        self.variables = {}

    def program(self, name):
        return os.path.join(self.bindir, name)

    def private_cluster(self, action, *arguments):
        # This is a file and not a pipe: a server that is started inherits it, and would keep a pipe open.
        with tempfile.TemporaryFile(mode='w+', encoding='utf-8') as output:
            status = subprocess.run([self.SCRIPT, action, self.directory, *arguments], stdin=subprocess.DEVNULL,
                                    stdout=output, stderr=subprocess.STDOUT, check=False).returncode
            output.seek(0)
            if status != 0:
                raise Failure(f'private-cluster {action} failed:\n{output.read()}')
            return output.read()

    def settings(self):
        """What the server runs with beyond PostgreSQL's defaults; printed and kept with the results."""
        shared_buffers = min(4096, memory_of_machine() // 4 // 2**20)
        settings = {
            # The tables of a run at 10 million rows fit into the buffers, so that everything measured is warm.
            'shared_buffers': f'{shared_buffers}MB',
            'effective_cache_size': f'{memory_of_machine() // 2 // 2**20}MB',
            'work_mem': '256MB',
            'maintenance_work_mem': '1GB',
            'max_parallel_workers': '8',
            'max_parallel_workers_per_gather': '2',
            'max_parallel_maintenance_workers': '2',
            'jit': 'off',
            # There is no checkpoint and no vacuum but those that the benchmark asks for.
            'checkpoint_timeout': '1d',
            'max_wal_size': '64GB',
            'min_wal_size': '2GB',
            'autovacuum': 'off',
            # The server process starts with PostgreSQL, since looking for devices doesn't start one.
            'shared_preload_libraries': 'pg_gpu',
        }
        return settings | self.user_settings

    def start(self):
        self.private_cluster('start', *(argument for name, value in self.settings().items()
                                        for argument in ('--set', f'{name}={value}')))
        # Lines have the form: export NAME=value NAME=value
        words = shlex.split(self.private_cluster('env'))
        self.variables = dict(word.split('=', 1) for word in words if '=' in word)

    def environment(self, database):
        """Variables for psql and pgbench, without the caller's own PG* ones."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith('PG')}
        return kept | self.variables | {'PGDATABASE': database, 'LC_ALL': 'C'}

    def file(self, name):
        """A path in the folder that the server can write to."""
        return os.path.join(self.variables['PG_GPU_CLUSTER'], name)

    def running(self):
        return bool(self.variables) and os.path.exists(self.file('data/postmaster.pid'))

    def end_of_log(self):
        try:
            with open(self.file('server.log'), encoding='utf-8', errors='replace') as file:
                return ''.join(file.readlines()[-20:])
        except (OSError, KeyError):
            return ''

    def stop(self):
        self.close_sessions()
        if self.variables:
            self.private_cluster('stop')

    def remove(self):
        self.close_sessions()
        if self.variables:
            self.private_cluster('stop', '--remove')
        shutil.rmtree(self.directory, ignore_errors=True)

    def postmaster(self):
        with open(self.file('data/postmaster.pid'), encoding='ascii') as file:
            return int(file.readline())

    def session(self, database):
        """The open session of a database; made at the first call."""
        if database not in self.sessions:
            self.sessions[database] = Session(self, database)
        return self.sessions[database]

    def close_session(self, database):
        if database in self.sessions:
            self.sessions.pop(database).close()

    def close_sessions(self):
        for database in list(self.sessions):
            self.close_session(database)

    @contextlib.contextmanager
    def pinned(self):
        """While this lasts, new backends stay on one processor, which the block is given.

        A backend inherits the postmaster's processors. One client that waits for one server process on another
        processor measures mostly how long a virtual machine takes to wake one.
        """
        postmaster = self.postmaster()
        before = os.sched_getaffinity(postmaster)
        processor = max(before)
        os.sched_setaffinity(postmaster, {processor})
        try:
            yield processor
        finally:
            os.sched_setaffinity(postmaster, before)

    def pgbench(self, database, script, *, clients=1, transactions=None, seconds=None, pinned=False, seed=1,
                settings=()):
        """Runs one pgbench script with prepared statements.

        Returns transactions a second, and the milliseconds that a transaction took of the server's processors.
        """
        options = ' '.join(f'-c {name}={value}' for name, value in dict(settings).items())
        length = ['-t', str(transactions)] if transactions else ['-T', str(seconds)]
        with tempfile.NamedTemporaryFile(mode='w', suffix='.sql', encoding='utf-8') as file:
            file.write(script)
            file.flush()
            command = [self.program('pgbench'), '-n', '-M', 'prepared', '-c', str(clients), '-j', str(clients),
                       '--random-seed', str(seed), '-f', file.name, *length]
            environment = self.environment(database) | {'PGOPTIONS': options}
            with self.pinned() if pinned else contextlib.nullcontext() as processor:
                def pin():
                    if processor is not None:
                        os.sched_setaffinity(0, {processor})
                before = self.ended_backends_ms()
                done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False,
                                      preexec_fn=pin)  # pylint: disable=subprocess-popen-preexec-fn
        figures = {}
        for line in done.stdout.splitlines():
            name, sign, value = line.partition(' = ')
            if sign:
                figures[name] = value
            elif line.startswith('number of failed transactions: '):
                figures['failed'] = line.split()[4]
            elif line.startswith('number of transactions actually processed: '):
                figures['processed'] = int(line.split()[5].partition('/')[0])
        if done.returncode != 0 or figures.get('failed') != '0' or 'tps' not in figures:
            raise Failure(f'pgbench failed in {database}:\n{done.stdout}{done.stderr}\n{script}')
        # The clients have gone, and their backends end at once; then the postmaster has their times.
        time.sleep(0.1)
        used = self.ended_backends_ms() - before
        return float(figures['tps'].split()[0]), used / figures['processed']

    def ended_backends_ms(self):
        """Processor time of all processes of the server that have ended."""
        with open(f'/proc/{self.postmaster()}/stat', encoding='utf-8') as file:
            fields = file.read().rpartition(')')[2].split()
        return (int(fields[13]) + int(fields[14])) * 1000 / os.sysconf('SC_CLK_TCK')


def processor_ms(process):
    with open(f'/proc/{process}/schedstat', encoding='ascii') as file:
        return int(file.read().split()[0]) / 1e6


def processes_of(parent):
    """The processes that this one started and that still live."""
    try:
        with open(f'/proc/{parent}/task/{parent}/children', encoding='ascii') as file:
            return [int(name) for name in file.read().split()]
    except OSError:
        pass
    # The kernel lacks that file, or the parent is gone.
    children = []
    for name in os.listdir('/proc'):
        if name.isdigit():
            try:
                with open(f'/proc/{name}/stat', encoding='utf-8', errors='replace') as file:
                    # The name in parentheses may hold anything; the parent is the second field after it.
                    if int(file.read().rpartition(')')[2].split()[1]) == parent:
                        children.append(int(name))
            except (OSError, IndexError):
                pass  # it ended meanwhile
    return children
