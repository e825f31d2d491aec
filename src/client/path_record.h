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
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace pg_gpu::client {

// Of the last requests, each of which counts for less than the next one.
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
// What requests take on each path as a share of their estimates; below 0 for a path that none has taken.
using PathRatios = std::array<double, kRecordedPaths>;

// What requests of several shapes lately took. Each shape has one voice, and so have the estimates.
class ShapesRecord {
  public:
    void note(std::uint32_t shape, const PathRatios &ratios) {
        Voice *const end = voices_.data() + count_;
        Voice *voice =
            std::find_if(voices_.data(), end, [shape](const Voice &one) { return one.shape == shape; });
        if (voice == end) {
            if (count_ < voices_.size())
                count_++;
            else
                voice = std::min_element(voices_.data(), end, [](const Voice &one, const Voice &other) {
                    return one.heard < other.heard;
                });
        }
        *voice = {shape, ratios, ++heard_};
    }

    // The median of what all voices say of a path that requests have not taken yet. `known` is another one on
    // which they take `ratio`, or -1.
    double guess(int path, int known, double ratio) const {
        const auto at = static_cast<std::size_t>(path);
        // All of it is sorted, with what is unused at the end: g++ 14 takes a sort of the first `count` for
        // one that may pass the end.
        std::array<double, kMaxVoices + 1> said;
        said.fill(std::numeric_limits<double>::infinity());
        // Who takes less than estimated on one path is likely to do so on another. The opposite may be for
        // the path's sake.
        said[0] = known < 0 ? 1 : std::min(ratio, 1.0);
        std::size_t count = 1;
        for (std::size_t i = 0; i < count_; i++) {
            const PathRatios &ratios = voices_[i].ratios;
            if (ratios[at] < 0)
                continue;
            if (known < 0)
                said[count++] = ratios[at];
            else if (const double other = ratios[static_cast<std::size_t>(known)]; other > 0)
                said[count++] = ratio * ratios[at] / other;
        }
        std::sort(said.begin(), said.end());
        return std::sqrt(said[(count - 1) / 2] * said[count / 2]);
    }

  private:
    static constexpr std::size_t kMaxVoices = 8;
    struct Voice {
        std::uint32_t shape;
        PathRatios ratios;
        std::uint64_t heard;  // the greater, the later
    };

    std::array<Voice, kMaxVoices> voices_{};
    std::size_t count_ = 0;
    std::uint64_t heard_ = 0;
};

// Of requests of one shape. `others` is asked about paths that none of them has taken yet.
class PathRecord {
  public:
    // What requests took on a path as a share of their estimates.
    double ratio(int path, const ShapesRecord &others) const {
        const FadedRatio &own = tracks_[at(path)].ratio;
        if (own.is_known())
            return own.value();
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

    // What the request is expected to take on a path, in microseconds.
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
            if (path == known_best || estimates[at(path)] < 0 || track.spent <= 0)
                continue;
            // Of several the one that was not tried for the longest time.
            if (expected(path, estimates, others) - least <= allowance(path, known_best, others) &&
                (chosen == known_best || track.spent > tracks_[at(chosen)].spent))
                chosen = path;
        }
        return chosen;
    }

    // A request took so many microseconds on a path.
    void note(int path, const PathEstimates &estimates, const ShapesRecord &others, double taken) {
        // One that was held up by chance is not believed at once.
        constexpr double kMaxBelieved = 16;
        const int before = best(estimates, others);
        taken = std::min(taken, expected(path, estimates, others) * kMaxBelieved);
        for (Track &track : tracks_)
            track.spent += taken;
        Track &track = tracks_[at(path)];
        track.spent = 0;
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
    static bool has_changed(const Track &track, double now) {
        constexpr double kChanged = 1.5;
        return now > track.best_then * kChanged || now * kChanged < track.best_then;
    }

    // What may be lost by trying a path.
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

}  // namespace pg_gpu::client
