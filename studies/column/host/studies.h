// The host engine's operations on columns.
#pragma once

#include "studies/column/dictionary.h"
#include "studies/column/histogram.h"

namespace gpu_engine::host {

class HostEngine;

class HostHistograms final : public Histograms {
  public:
    explicit HostHistograms(HostEngine &engine) : engine_(engine) {}

    Status count(Stream &stream, const std::uint8_t *values, std::uint64_t count, const HistogramBins &bins,
                 std::uint64_t *counts) noexcept override;
    Status count(Stream &stream, const std::int32_t *values, std::uint64_t count, const HistogramBins &bins,
                 std::uint64_t *counts) noexcept override;
    Status count(Stream &stream, const std::int64_t *values, std::uint64_t count, const HistogramBins &bins,
                 std::uint64_t *counts) noexcept override;
    Status count(Stream &stream, const float *values, std::uint64_t count, const HistogramBins &bins,
                 std::uint64_t *counts) noexcept override;
    Status count(Stream &stream, const double *values, std::uint64_t count, const HistogramBins &bins,
                 std::uint64_t *counts) noexcept override;
    Status count_bytes(Stream &stream, const std::uint8_t *bytes, std::uint64_t count,
                       std::uint64_t *counts) noexcept override;
    Status count_codes(Stream &stream, const PackedCodes &codes, const std::uint32_t *slot_of_code,
                       std::uint64_t entries, std::uint32_t slots, std::uint64_t *counts) noexcept override;

  private:
    HostEngine &engine_;
};

class HostDictionaries final : public Dictionaries {
  public:
    explicit HostDictionaries(HostEngine &engine) : engine_(engine) {}

    Status merge(Stream &stream, const Dictionary<std::uint32_t> &main,
                 const Dictionary<std::uint32_t> &delta, MergeWay way,
                 MergedDictionary<std::uint32_t> *merged) noexcept override;
    Status merge(Stream &stream, const Dictionary<std::uint64_t> &main,
                 const Dictionary<std::uint64_t> &delta, MergeWay way,
                 MergedDictionary<std::uint64_t> *merged) noexcept override;
    Status merge(Stream &stream, const Dictionary<Key128> &main, const Dictionary<Key128> &delta,
                 MergeWay way, MergedDictionary<Key128> *merged) noexcept override;
    Status merge(Stream &stream, const StringDictionary &main, const StringDictionary &delta,
                 StringOrder order, MergedStrings *merged) noexcept override;
    Status build(Stream &stream, const std::uint32_t *values, std::uint64_t count, std::uint32_t *entries,
                 std::uint32_t *codes, std::uint64_t *distinct) noexcept override;
    Status build(Stream &stream, const std::uint64_t *values, std::uint64_t count, std::uint64_t *entries,
                 std::uint32_t *codes, std::uint64_t *distinct) noexcept override;
    Status build(Stream &stream, const Key128 *values, std::uint64_t count, Key128 *entries,
                 std::uint32_t *codes, std::uint64_t *distinct) noexcept override;
    Status recode(Stream &stream, const MappedCodes &main, const MappedCodes &delta, std::uint32_t bits,
                  std::uint32_t *words) noexcept override;

  private:
    HostEngine &engine_;
};

}  // namespace gpu_engine::host
