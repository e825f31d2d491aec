// Records the time that requests and loads of mirrors took beside what was estimated, and chooses the path of
// the next request. Plain C++, tested without PostgreSQL.
//
// An estimate by constants knows neither rows that must be looked up in the table, nor queues, nor caches. So
// each path's estimates are multiplied by the ratio of what its last requests took to what was estimated for
// them. The path with the least product is taken.
//
// Nothing is learned of a path that isn't taken. So it is tried again when the expected loss by that is a
// small share of the time spent since its last trial. Trials then cost little, however slow a path is, and a
// path that lies far behind is tried seldom. Each trial that changes nothing halves the share.
//
// The first request of a shape has a server's engine make what later ones find there. So a path whose first
// request was slow is taken once more before it is left.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace pg_gpu::client {

// The ratio of actual to estimated times over the last requests; older ones count for less.
struct FadedRatio {
    double estimated = 0;
    double actual = 0;

    static constexpr double kKept = 7.0 / 8;

    void note(double estimate, double taken) {
        estimated = estimated * kKept + estimate;
        actual = actual * kKept + taken;
    }

    bool is_known() const { return estimated > 0; }
    double value() const { return actual / estimated; }
};

inline constexpr int kRecordedPaths = 3;

// Microseconds that a request is estimated to take on each path; below 0 for a path that is not there.
using PathEstimates = std::array<double, kRecordedPaths>;
// The ratio of actual to estimated times on each path; below 0 for a path that no request has taken.
using PathRatios = std::array<double, kRecordedPaths>;

// The ratios of requests of all shapes. Means are of logarithms, so that one shape which is slow on a path
// for reasons of its own doesn't outweigh the others.
class ShapesRecord {
  public:
    // A request of a shape that takes these shares of its estimates was answered.
    void note(const PathRatios &ratios) {
        for (int path = 0; path < kRecordedPaths; path++) {
            if (ratios[at(path)] <= 0)
                continue;
            shares_[at(path)].note(std::log(ratios[at(path)]));
            for (int other = 0; other < kRecordedPaths; other++)
                if (other != path && ratios[at(other)] > 0)
                    compared_[at(path)][at(other)].note(std::log(ratios[at(path)] / ratios[at(other)]));
        }
    }

    // The share that a request is likely to take on a path that those of its shape have not taken yet.
    // `known` is one on which they take the share `ratio`, or -1. It lies halfway, by its logarithm, between
    // what the estimates say and what others take, of whom those count that have taken both paths.
    double guess(int path, int known, double ratio) const {
        // A shape that takes less than estimated on one path is likely to do so on another. One that takes
        // more may do so for the path's sake, so that the others aren't expected to.
        const double estimated = known < 0 ? 1 : std::min(ratio, 1.0);
        const Mean &mean = known < 0 ? shares_[at(path)] : compared_[at(path)][at(known)];
        if (mean.weight == 0)
            return estimated;
        return std::sqrt(estimated * (known < 0 ? 1 : ratio) * std::exp(mean.sum / mean.weight));
    }

  private:
    struct Mean {
        double sum = 0;
        double weight = 0;

        void note(double value) {
            constexpr double kKept = 15.0 / 16;
            sum = sum * kKept + value;
            weight = weight * kKept + 1;
        }
    };

    static std::size_t at(int path) { return static_cast<std::size_t>(path); }

    std::array<Mean, kRecordedPaths> shares_{};
    std::array<std::array<Mean, kRecordedPaths>, kRecordedPaths> compared_{};
};

// The record of requests of one shape. `others` gives the ratios of paths that none of them has taken yet.
class PathRecord {
  public:
    // Returns the ratio of actual to estimated times on a path.
    double ratio(int path, const ShapesRecord &others) const {
        if (tracks_[at(path)].ratio.is_known())
            return tracks_[at(path)].ratio.value();
        // The path that was taken last.
        int last = -1;
        for (int other = 0; other < kRecordedPaths; other++)
            if (tracks_[at(other)].ratio.is_known() &&
                (last < 0 || tracks_[at(other)].spent < tracks_[at(last)].spent))
                last = other;
        return others.guess(path, last, last < 0 ? 1 : tracks_[at(last)].ratio.value());
    }
    PathRatios known_ratios() const {
        PathRatios ratios;
        for (int path = 0; path < kRecordedPaths; path++)
            ratios[at(path)] = tracks_[at(path)].ratio.is_known() ? tracks_[at(path)].ratio.value() : -1;
        return ratios;
    }

    // Returns the microseconds that the request is expected to take on a path.
    double expected(int path, const PathEstimates &estimates, const ShapesRecord &others) const {
        return estimates[at(path)] * ratio(path, others);
    }

    // The path that is expected to take least.
    int best(const PathEstimates &estimates, const ShapesRecord &others) const {
        int best = 0;
        for (int path = 1; path < kRecordedPaths; path++)
            if (estimates[at(path)] >= 0 &&
                expected(path, estimates, others) < expected(best, estimates, others))
                best = path;
        return best;
    }

    // The path that the next request is to take: the best, or one that it is time to try again.
    int choose(const PathEstimates &estimates, const ShapesRecord &others) const {
        const int known_best = best(estimates, others);
        const double least = expected(known_best, estimates, others);
        int chosen = known_best;
        for (int path = 0; path < kRecordedPaths; path++) {
            const Track &track = tracks_[at(path)];
            if (is_second_chance(path, known_best, estimates, least, others))
                return path;
            if (path == known_best || estimates[at(path)] < 0 || track.spent <= 0)
                continue;
            // Of several paths, the one is tried whose last trial was longest ago.
            if (expected(path, estimates, others) - least <= allowance(path, known_best, others) &&
                (chosen == known_best || track.spent > tracks_[at(chosen)].spent))
                chosen = path;
        }
        return chosen;
    }

    // Notes that a request took so many microseconds on a path, of which requests of others that were
    // computed at the same time may explain `shared`. They would have slowed the other paths, too, so what
    // they explain doesn't make this one seem slower than it was expected to be.
    void note(int path, const PathEstimates &estimates, const ShapesRecord &others, double taken,
              double shared = 0) {
        const int before = best(estimates, others);
        const double usual = expected(path, estimates, others);
        taken = taken <= usual ? taken : std::min(std::max(taken - shared, usual), usual * kMaxBelieved);
        for (Track &track : tracks_)
            track.spent += taken;
        Track &track = tracks_[at(path)];
        track.spent = 0;
        track.requests = std::min(track.requests + 1, 2);
        if (path == before) {
            track.ratio.note(estimates[at(path)], taken);
            return;
        }
        // A trial counts alone: what was known of the path is old.
        const int trials_before = has_changed(track, ratio(before, others)) ? 0 : track.vain_trials;
        track.ratio = {estimates[at(path)], taken};
        track.vain_trials = best(estimates, others) == path ? 0 : trials_before + 1;
        track.best_then = ratio(before, others);
    }

    // Notes that a path was tried in vain for so many microseconds, and that another one answered then, which
    // has been noted. Who takes the path waits for both, so it counts as slower by that than the other has
    // been lately, whatever this request took.
    void note_vain(int path, int answered, const PathEstimates &estimates, const ShapesRecord &others,
                   double wasted) {
        wasted = std::min(wasted, expected(path, estimates, others) * kMaxBelieved);
        Track &track = tracks_[at(path)];
        track.ratio = {estimates[at(path)], expected(answered, estimates, others) + wasted};
        track.spent = 0;
        track.requests = 2;
        track.vain_trials++;
        track.best_then = ratio(best(estimates, others), others);
    }

  private:
    // A request that was held up by chance is not believed at once.
    static constexpr double kMaxBelieved = 16;

    struct Track {
        FadedRatio ratio;
        double spent = 0;      // microseconds since the path was tried last, on all others
        int requests = 0;      // 2: so many or more
        int vain_trials = 0;   // in a row, since the last one that made it the best
        double best_then = 1;  // the ratio of the path that was best when this one was tried last
    };

    static std::size_t at(int path) { return static_cast<std::size_t>(path); }

    // PostgreSQL's own plan, path 0, keeps nothing for later requests.
    bool is_second_chance(int path, int best, const PathEstimates &estimates, double least,
                          const ShapesRecord &others) const {
        constexpr double kMaxLoss = 8;
        return path > 0 && path != best && estimates[at(path)] >= 0 && tracks_[at(path)].requests == 1 &&
               expected(path, estimates, others) <= kMaxLoss * least;
    }

    // Does the path that is best now take another share of its estimates than when this one was tried? Then
    // that trial tells little.
    static bool has_changed(const Track &track, double now) {
        constexpr double kChanged = 1.5;
        return now > track.best_then * kChanged || now * kChanged < track.best_then;
    }

    // Returns how many microseconds a trial of the path may lose.
    double allowance(int path, int best, const ShapesRecord &others) const {
        constexpr double kShare = 1.0 / 32;
        constexpr int kMaxHalvings = 5;
        const Track &track = tracks_[at(path)];
        const int halvings =
            has_changed(track, ratio(best, others)) ? 0 : std::min(track.vain_trials, kMaxHalvings);
        return track.spent * kShare / static_cast<double>(1 << halvings);
    }

    std::array<Track, kRecordedPaths> tracks_{};
};

// Loads of mirrors of one size are compared with one another. A small run that waits for others at the server
// process may take ten times its estimate, which tells that a load waits so many milliseconds, and not that
// one of a thousand times the size takes ten times its own.
class LoadRecord {
  public:
    // Notes that a load took so many microseconds where so many were estimated.
    void note(double estimate, double taken) { ratios_[class_of(estimate)].note(estimate, taken); }

    // Returns the microseconds that a load is expected to take.
    double expected(double estimate) const {
        const std::size_t own = class_of(estimate);
        if (ratios_[own].is_known())
            return estimate * ratios_[own].value();
        for (std::size_t distance = 1; distance < kClasses; distance++) {
            // A larger load that is slow is likely to be so by its size.
            if (own + distance < kClasses && ratios_[own + distance].is_known())
                return estimate * ratios_[own + distance].value();
            if (distance <= own && ratios_[own - distance].is_known())
                return estimate + ratios_[own - distance].excess();
        }
        return estimate;
    }

  private:
    // A class of loads is four times as large as the one before.
    static constexpr std::size_t kClasses = 20;

    struct Ratio : FadedRatio {
        double loads = 0;

        void note(double estimate, double taken) {
            loads = loads * kKept + 1;
            FadedRatio::note(estimate, taken);
        }
        // Returns the microseconds that a load took beyond its estimate.
        double excess() const { return std::max((actual - estimated) / loads, 0.0); }
    };

    static std::size_t class_of(double estimate) {
        const double size = std::log2(std::max(estimate, 1.0)) / 2;
        return std::min(static_cast<std::size_t>(size), kClasses - 1);
    }

    std::array<Ratio, kClasses> ratios_{};
};

}  // namespace pg_gpu::client
