// What requests of one sort really took on each path, beside what they were expected to take, and which path
// the next one takes. Plain C++, tested without PostgreSQL.
//
// An estimate by constants knows neither rows that must be looked up in the table, nor queues, nor caches. So
// each path's estimates are multiplied by the ratio of what its last requests took to what was estimated for
// them. The path with the least product is taken.
//
// A path that isn't taken is not heard of. It is tried again when the loss that is expected of that is a
// small share of the time that was spent since it was tried last. So trying costs little, whatever a path
// takes, and a path that lies far behind is tried seldom. The share is halved each time when a trial changes
// nothing.
#pragma once

#include <algorithm>
#include <array>

namespace pg_gpu::client {

// Of the last requests, each of which counts for less than the next one.
struct FadedRatio {
    double estimated = 0;
    double actual = 0;

    void note(double estimate, double taken) {
        constexpr double kKept = 7.0 / 8;
        estimated = estimated * kKept + estimate;
        actual = actual * kKept + taken;
    }

    // Before the first request the estimate is believed.
    double value() const { return estimated > 0 ? actual / estimated : 1; }
};

inline constexpr int kRecordedPaths = 3;

// Microseconds that a request is estimated to take on each path; below 0 for a path that is not there.
using PathEstimates = std::array<double, kRecordedPaths>;

class PathRecord {
  public:
    // What the request is expected to take on a path, in microseconds.
    double expected(int path, const PathEstimates &estimates) const {
        return estimates[at(path)] * tracks_[at(path)].ratio.value();
    }

    // The path that is expected to take least.
    int best(const PathEstimates &estimates) const {
        int best = 0;
        for (int path = 1; path < kRecordedPaths; path++)
            if (estimates[at(path)] >= 0 && expected(path, estimates) < expected(best, estimates))
                best = path;
        return best;
    }

    // The path that the next request is to take: the best, or one that it is time to try again.
    int choose(const PathEstimates &estimates) const {
        const int known_best = best(estimates);
        const double least = expected(known_best, estimates);
        int chosen = known_best;
        for (int path = 0; path < kRecordedPaths; path++) {
            const Track &track = tracks_[at(path)];
            if (path == known_best || estimates[at(path)] < 0 || track.spent <= 0)
                continue;
            // Of several the one that was not tried for the longest time.
            if (expected(path, estimates) - least <= allowance(path, known_best) &&
                (chosen == known_best || track.spent > tracks_[at(chosen)].spent))
                chosen = path;
        }
        return chosen;
    }

    // A request took so many microseconds on a path.
    void note(int path, const PathEstimates &estimates, double taken) {
        // One that was held up by chance is not believed at once.
        constexpr double kMaxBelieved = 16;
        const int before = best(estimates);
        taken = std::min(taken, expected(path, estimates) * kMaxBelieved);
        for (Track &track : tracks_)
            track.spent += taken;
        Track &track = tracks_[at(path)];
        track.spent = 0;
        if (path == before) {
            track.ratio.note(estimates[at(path)], taken);
            return;
        }
        // A trial counts alone: what was known of the path is old.
        const int trials_before = has_changed(track, before) ? 0 : track.vain_trials;
        track.ratio = {estimates[at(path)], taken};
        track.vain_trials = best(estimates) == path ? 0 : trials_before + 1;
        track.best_then = tracks_[at(before)].ratio.value();
    }

  private:
    struct Track {
        FadedRatio ratio;
        double spent = 0;      // microseconds since the path was tried last, on all others
        int vain_trials = 0;   // in a row, since the last one that made it the best
        double best_then = 1;  // the ratio of the path that was best when this one was tried last
    };

    static std::size_t at(int path) { return static_cast<std::size_t>(path); }

    // Does the path that is best now take another share of its estimates than when this one was tried? Then
    // that trial tells little.
    bool has_changed(const Track &track, int best) const {
        constexpr double kChanged = 1.5;
        const double now = tracks_[at(best)].ratio.value();
        return now > track.best_then * kChanged || now * kChanged < track.best_then;
    }

    // What may be lost by trying a path.
    double allowance(int path, int best) const {
        constexpr double kShare = 1.0 / 32;
        constexpr int kMaxHalvings = 5;
        const Track &track = tracks_[at(path)];
        const int halvings = has_changed(track, best) ? 0 : std::min(track.vain_trials, kMaxHalvings);
        return track.spent * kShare / static_cast<double>(1 << halvings);
    }

    std::array<Track, kRecordedPaths> tracks_{};
};

}  // namespace pg_gpu::client
