"""What the machine is, what else it was doing, and how much memory a statement took."""

import os
import platform
import subprocess
import threading

from server import memory_of_machine, processes_of

TICKS = os.sysconf('SC_CLK_TCK')


def first_line(command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0].strip()
    except (OSError, subprocess.CalledProcessError, IndexError):
        return None


def describe():
    model, system = None, None
    with open('/proc/cpuinfo', encoding='utf-8') as file:
        for line in file:
            if line.startswith('model name'):
                model = line.split(':', 1)[1].strip()
                break
    try:
        system = platform.freedesktop_os_release()['PRETTY_NAME']
    except OSError:
        pass
    return {'processor': model or platform.machine(), 'cores': len(os.sched_getaffinity(0)),
            'memory_bytes': memory_of_machine(), 'kernel': platform.release(), 'system': system,
            'virtual': first_line(['systemd-detect-virt'])}


def commit(directory):
    """The commit of the sources, with a mark when files differ from it; None without git."""
    name = first_line(['git', '-C', directory, 'rev-parse', 'HEAD'])
    if name and first_line(['git', '-C', directory, 'status', '--porcelain']):
        name += ' and changes'
    return name


def processor_seconds(process):
    """What a process and its ended children used; 0 when it is gone."""
    try:
        with open(f'/proc/{process}/stat', encoding='utf-8', errors='replace') as file:
            fields = file.read().rpartition(')')[2].split()
    except OSError:
        return 0.0
    return sum(int(fields[position]) for position in (11, 12, 13, 14)) / TICKS


class OtherLoad:
    """The share of the processors that work other than ours took: the first thing to suspect when figures of a benchmark differ.

    Work of ours that ended without being waited for is counted as somebody else's, so this errs upwards.
    """

    def __init__(self, server):
        self.server = server
        self.start()

    def start(self):
        self.began = self.counters()

    def counters(self):
        with open('/proc/stat', encoding='ascii') as file:
            # user, nice, system, idle, iowait, irq, softirq, steal
            ticks = [int(field) for field in file.readline().split()[1:9]]
        idle = ticks[3] + ticks[4]
        own = sum(processor_seconds(process) for process in [os.getpid(), *processes_of(os.getpid())])
        if self.server.running():
            postmaster = self.server.postmaster()
            own += processor_seconds(postmaster)
            own += sum(processor_seconds(process) for process in processes_of(postmaster))
        return sum(ticks) / TICKS, (sum(ticks) - idle) / TICKS, own

    def share(self):
        """The share since start(), 0 to 1."""
        whole, busy, own = (now - then for now, then in zip(self.counters(), self.began))
        return max(0.0, min(1.0, (busy - own) / whole)) if whole > 0 else 0.0


class Memory:
    """Peak memory of a backend and its parallel workers while a statement runs.

    Counted are the anonymous pages of each process beyond those of the idle backend, and the dynamic shared
    memory that they map. Shared buffers aren't counted: the server has them anyway. Sampled, because the
    kernel's own high-water mark includes shared buffers.
    """

    PAUSE = 0.005

    def __init__(self, server, backend):
        self.postmaster = server.postmaster()
        self.backend = backend
        self.idle = self.anonymous(backend)
        self.idle_shared = self.shared([backend])
        self.peak = 0
        self.processes = 1
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.sample)

    @staticmethod
    def anonymous(process):
        try:
            with open(f'/proc/{process}/status', encoding='utf-8', errors='replace') as file:
                for line in file:
                    if line.startswith('RssAnon:'):
                        return int(line.split()[1]) * 1024
        except OSError:
            pass
        return 0

    @staticmethod
    def shared(processes):
        names = set()
        for process in processes:
            try:
                with open(f'/proc/{process}/maps', encoding='utf-8', errors='replace') as file:
                    names |= {line.split()[5] for line in file if '/dev/shm/PostgreSQL.' in line}
            except OSError:
                pass
        size = 0
        for name in names:
            try:
                size += os.stat(name).st_blocks * 512
            except OSError:
                pass
        return size

    def workers(self):
        wanted = f'parallel worker for PID {self.backend} '
        found = []
        for process in processes_of(self.postmaster):
            try:
                with open(f'/proc/{process}/cmdline', encoding='utf-8', errors='replace') as file:
                    if wanted in file.read().replace('\0', ' ') + ' ':
                        found.append(process)
            except OSError:
                pass
        return found

    def sample(self):
        while not self.ended.is_set():
            processes = [self.backend, *self.workers()]
            size = sum(max(0, self.anonymous(process) - self.idle) for process in processes)
            size += max(0, self.shared(processes) - self.idle_shared)
            self.peak = max(self.peak, size)
            self.processes = max(self.processes, len(processes))
            self.ended.wait(self.PAUSE)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()
