"""pgbench's clients in the background: what each transaction took, from pgbench's own log."""

import glob
import os
import signal
import subprocess
import tempfile

from server import Failure


class Clients:
    """Clients that run scripts, one drawn by chance for each transaction, until they are ended.

    With a rate they begin so many transactions a second together, at times of a Poisson process.
    """

    FOREVER = 1_000_000

    def __init__(self, server, database, scripts, *, clients, seconds=None, transactions=None, rate=None, settings=(), seed=1):
        self.failed = 0
        self.folder = tempfile.TemporaryDirectory()     # pylint: disable=consider-using-with
        command = [server.program('pgbench'), '-n', '-M', 'prepared', '-c', str(clients), '-j', str(min(clients, os.cpu_count())),
                   '--random-seed', str(seed), '--log', '--log-prefix', os.path.join(self.folder.name, 'log')]
        command += ['-t', str(transactions)] if transactions else ['-T', str(seconds or self.FOREVER)]
        command += ['-R', str(rate)] if rate else []
        for number, script in enumerate(scripts):
            path = os.path.join(self.folder.name, f'{number}.sql')
            with open(path, 'w', encoding='utf-8') as file:
                file.write(script)
            command += ['-f', path]
        options = ' '.join(f'-c {name}={value}' for name, value in dict(settings).items())
        with open(os.path.join(self.folder.name, 'output'), 'w', encoding='utf-8') as output:
            # The process is waited for by wait().
            self.process = subprocess.Popen(command, env=server.environment(database) | {'PGOPTIONS': options},  # pylint: disable=consider-using-with
                                            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)

    def end(self):
        """Each client ends with its transaction, as if the time given to pgbench were over: that is what pgbench takes SIGALRM for."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGALRM)
        return self.wait()

    def wait(self):
        """Transactions as (script, end in seconds of the epoch, milliseconds from when it began, milliseconds that it began late)."""
        try:
            status = self.process.wait()
            if status != 0:
                with open(os.path.join(self.folder.name, 'output'), encoding='utf-8') as file:
                    raise Failure(f'pgbench ended with {status}:\n{file.read()[-2000:]}')
            transactions = []
            for name in glob.glob(os.path.join(self.folder.name, 'log.*')):
                with open(name, encoding='ascii') as file:
                    # Fields: the numbers of client and transaction, microseconds since it was due, script, end, and
                    # with a rate how late it began.
                    for fields in map(str.split, file):
                        # This transaction lost in a deadlock.
                        if fields[2] == 'failed':
                            self.failed += 1
                            continue
                        late = int(fields[6]) / 1000 if len(fields) > 6 else 0.0
                        transactions.append((int(fields[3]), int(fields[4]) + int(fields[5]) / 1e6, int(fields[2]) / 1000 - late, late))
            return transactions
        finally:
            self.folder.cleanup()

    def discard(self):
        """Ends them whatever they do, without a result."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.folder.cleanup()
