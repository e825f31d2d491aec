"""Samples, their median and spread, and the loop that takes them side by side."""

import statistics
from dataclasses import dataclass, field

# On a shared machine runs are repeated until the spread of each side is below this, or the cap is reached.
SPREAD_LIMIT = 0.30


def quantile(samples, share):
    """Returns the quantile, linear between the two nearest samples."""
    ordered = sorted(samples)
    position = share * (len(ordered) - 1)
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def spread(samples):
    """From the 10th to the 90th percentile, as a share of the median.

    Percentiles and not the extremes: more runs can only widen the extremes, so that one disturbance would
    keep the benchmark repeating up to the cap.
    """
    middle = statistics.median(samples)
    return (quantile(samples, 0.9) - quantile(samples, 0.1)) / middle if middle else 0.0


@dataclass
class Side:
    """What was measured of one competitor."""
    samples: list = field(default_factory=list)
    how: str = ''       # plan or settings, for the reader of the JSON
    # The processor time of the backend where it works alone; where the unit is tps, that of the server per transaction.
    processor_ms: list = field(default_factory=list)

    @property
    def median(self):
        return statistics.median(self.samples)

    @property
    def spread(self):
        return spread(self.samples)

    def to_json(self):
        return {'median': self.median, 'spread': round(self.spread, 4), 'samples': self.samples,
                'processor_ms': self.processor_ms, 'how': self.how}


@dataclass
class Target:
    """A bound of the ratio: at most or at least this."""
    at_most: float = None
    at_least: float = None

    def reached(self, ratio):
        return ratio <= self.at_most if self.at_most is not None else ratio >= self.at_least

    def __str__(self):
        return f'≤ {self.at_most:.2f}' if self.at_most is not None else f'≥ {self.at_least:.2f}'


@dataclass
class Line:
    """One row of the table."""
    name: str
    title: str
    unit: str
    sides: dict = field(default_factory=dict)     # access methods
    own: str = 'gpu_kary'                         # the side that is compared with the others
    against: str = None                           # this one of them; else the best
    target: Target = None
    limit: float = None                           # what its figure is divided by, in place of another's
    notes: list = field(default_factory=list)
    other_load: float = 0.0
    failure: str = None
    answer: list = None                           # what the first way answered; all others must, too

    @property
    def other(self):
        """The side it is compared with; None: there is none."""
        if self.against in self.sides:
            return self.against
        others = [name for name in self.sides if name != self.own]
        best = max if self.unit == 'tps' else min
        return best(others, key=lambda name: self.sides[name].median) if others else None

    @property
    def ratio(self):
        if self.own not in self.sides or (self.other is None and self.limit is None):
            return None
        below = self.limit if self.limit is not None else self.sides[self.other].median
        return self.sides[self.own].median / below

    @property
    def processor_ratio(self):
        """The ratio by processor time, which other programs' work hardly touches; None where it isn't known."""
        if self.own not in self.sides or self.other is None:
            return None
        taken = [self.sides[name].processor_ms for name in (self.own, self.other)]
        own, other = (statistics.median(used) if used else 0 for used in taken)
        if not own or not other:
            return None
        ratio = own / other
        return 1 / ratio if self.unit == 'tps' else ratio

    @property
    def reached(self):
        return None if self.target is None or self.ratio is None else self.target.reached(self.ratio)

    @property
    def spread(self):
        return max((side.spread for side in self.sides.values()), default=0.0)

    def to_json(self):
        return {'name': self.name, 'title': self.title, 'unit': self.unit,
                'sides': {name: side.to_json() for name, side in self.sides.items()},
                'against': self.other, 'ratio': self.ratio, 'processor_ratio': self.processor_ratio, 'limit': self.limit,
                'must_reach': str(self.target) if self.target else None, 'reached': self.reached,
                'spread': round(self.spread, 4), 'other_load': round(self.other_load, 4),
                'notes': self.notes, 'failure': self.failure}


def side_by_side(visits, least, most):
    """Calls each side's visit in turn (A B A B …); a visit returns one sample, or a tuple that starts with it.

    At least `least` rounds; then more, up to `most`, while the spread of a side is too large.
    """
    samples = {name: [] for name in visits}
    for done in range(1, most + 1):
        for name, visit in visits.items():
            samples[name].append(visit())
        figures = ([one[0] if isinstance(one, tuple) else one for one in taken] for taken in samples.values())
        if done >= least and all(spread(taken) < SPREAD_LIMIT for taken in figures):
            break
    return samples
