"""What benchmarks of an access method have in common: statements with their plans, and the measures' samples."""

import time

from machine import OtherLoad
from samples import Side, side_by_side
from server import Failure

SERIAL = {'max_parallel_workers_per_gather': '0'}
# With costs of nothing, two workers are planned wherever a parallel plan exists at all.
PARALLEL = {'max_parallel_workers_per_gather': '2', 'parallel_setup_cost': '0', 'parallel_tuple_cost': '0',
            'min_parallel_index_scan_size': '0', 'min_parallel_table_scan_size': '0'}
# enable_indexscan must stay on, because PostgreSQL counts an index-only scan as an index scan.
INDEX_ONLY = {'enable_seqscan': 'off', 'enable_bitmapscan': 'off'}


class Statement:
    """One way to ask: the statement, its settings, and what its plan must hold."""

    def __init__(self, how, sql, settings, *wanted, prepare=None):
        self.how = how
        self.sql = sql
        self.settings = settings
        self.wanted = wanted        # each a node type, or (node type, index)
        self.prepare = prepare      # a PREPARE statement that sql executes
        self.workers = 0 if settings.get('max_parallel_workers_per_gather') == '0' else 2

    def check_plan(self, session):
        nodes = session.plan(self.sql)
        for wanted in self.wanted:
            kind, index = wanted if isinstance(wanted, tuple) else (wanted, None)
            if not any(node['Node Type'] == kind and index in (None, node.get('Index Name')) for node in nodes):
                found = ', '.join(' '.join(filter(None, (node['Node Type'], node.get('Index Name'))))
                                  for node in nodes)
                raise Failure(f'the plan has no {kind} {index or ""}: {found}\n  in: {self.sql}')


class Benchmark:
    """Takes the measures and keeps the lines."""

    OWN = ''            # the access method that the others are compared with
    GROUPS = ()

    def __init__(self, server, options, announce):
        self.server = server
        self.options = options
        self.announce = announce            # called with each finished line
        self.rows = options.rows
        self.lines = []
        self.other_load = OtherLoad(server)
        self.began = time.monotonic()

    # ---- Progress ------------------------------------------------------------------------------------

    def tell(self, text):
        """A line on the terminal: what begins, and how long the benchmark has run."""
        minutes, seconds = divmod(int(time.monotonic() - self.began), 60)
        print(f'[{minutes:02}:{seconds:02}] {text}', flush=True)

    def run_stages(self, stages):
        """Runs (title, function) one after the other, and says which of how many begins."""
        for number, (title, stage) in enumerate(stages, 1):
            self.tell(f'{number} of {len(stages)}: {title}')
            stage()

    def subject(self):
        """What is measured, for titles."""
        raise NotImplementedError

    def plots(self):
        """The benchmark's own plots: (name, function of path, lines and title, title)."""
        return ()

    # ---- Lines ---------------------------------------------------------------------------------------

    def measure(self, line, work):
        """Runs work(line), which fills the line's sides; a failure is kept, and the next line goes on."""
        self.other_load.start()
        try:
            work(line)
        except Failure as failure:
            line.failure = str(failure)
            self.server.close_sessions()
        line.other_load = self.other_load.share()
        self.lines.append(line)
        self.announce(line)

    def cap(self, least):
        return max(least, 2 * least + 1)

    def repeat(self, line, visits, least, how):
        samples = side_by_side(visits, least, self.cap(least))
        for am, taken in samples.items():
            times, processor = zip(*taken) if isinstance(taken[0], tuple) else (taken, ())
            line.sides[am] = Side(list(times), how[am], [used for used in processor if used is not None])

    def note_medians(self, line, title, candidates):
        figures = ', '.join(f'{name} {figure:,.1f} {line.unit}' for name, figure in candidates.items())
        line.notes.append(f'{title}: {figures}')

    @staticmethod
    def install(session):
        session.run('CREATE EXTENSION pg_gpu')
        session.run('CREATE EXTENSION pg_prewarm')

    def copy_database(self, template, name):
        self.server.close_session(template)
        self.server.close_session(name)
        admin = self.server.session('postgres')
        admin.run(f'DROP DATABASE IF EXISTS {name}')
        admin.run(f'CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy')

    @staticmethod
    def warm(session, *relations):
        for relation in relations:
            session.run(f"SELECT pg_prewarm('{relation}')")

    @staticmethod
    def show_only(session, am, table='t'):
        """Hides the other index from the planner; it goes on being maintained."""
        session.run(f"UPDATE pg_index SET indisvalid = (indexrelid = '{table}_{am}'::regclass) "
                    f"WHERE indrelid = '{table}'::regclass")

    # ---- Statements ----------------------------------------------------------------------------------

    def visit(self, session, am, statement, line, **how):
        """What takes a sample: one figure, or a tuple of it and the processor's milliseconds (None: not known)."""
        raise NotImplementedError

    def best(self, session, line, am, statements):
        """Times each way twice and returns the fastest, so that each competitor runs its best plan."""
        if len(statements) == 1:
            return statements[0]
        figures = {}
        for statement in statements:
            visit = self.visit(session, am, statement, line)
            figures[statement.how] = min(visit()[0], visit()[0])
        self.note_medians(line, am, figures)
        return min(statements, key=lambda statement: figures[statement.how])
