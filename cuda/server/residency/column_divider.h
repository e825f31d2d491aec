// Divides a run of columns by rows: makes of its pages those of several runs, which have their rows one after
// the other and the same dictionaries, so that an engine takes each for a run of its own.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu_engine/column.h"
#include "gpu_engine/memory.h"
#include "server/residency/placement.h"

namespace gpu_engine::server {

// Returns the layout of `rows` of a run's rows, as far as it is known before their TIDs are: these take as
// many pages as the same share of the run's TIDs would, and one more.
StoreLayout layout_of_rows(const StoreLayout &run, std::uint64_t rows);

// Pages come in order, as a loader takes them. Those of TIDs are kept until all of them have come: only then
// it is known how many pages of them each part has. Pages aren't trusted; the parts' loaders check them, too.
class ColumnDivider {
  public:
    // The shares cover the run, and each begins with a whole group of values. What TIDs take is counted in
    // `memory`. Throws Failure: the layout can't be divided, or there is no memory.
    ColumnDivider(MemoryBudget &memory, const StoreLayout &run, const std::vector<RunShare> &shares);
    ColumnDivider(const ColumnDivider &) = delete;
    ColumnDivider &operator=(const ColumnDivider &) = delete;
    ~ColumnDivider();

    const StoreLayout &run() const noexcept { return run_; }
    std::uint64_t taken_pages() const noexcept { return taken_pages_; }
    void note_taken(std::uint32_t pages) noexcept { taken_pages_ += pages; }

    // Takes pages of TIDs, the next ones. Throws Failure for one that contradicts those before.
    void take_tids(const char *images, std::uint32_t pages);
    // The following are of use once all TIDs have come.
    bool has_all_tids() const noexcept { return tid_pages_ == run_.tid_pages; }
    const StoreLayout &layout(std::size_t part) const noexcept { return parts_[part].layout; }
    // Returns page images of a part's TIDs, and forgets them.
    std::vector<char> give_tids(std::size_t part);
    // Cuts what is the part's out of pages of the run's stream, the first of which has number `first` there,
    // and returns images of those of the part's pages that are full, or the last. Parts may be cut at the
    // same time.
    std::vector<char> cut(std::size_t part, const char *images, std::uint64_t first, std::uint32_t pages);

  private:
    struct Area {
        std::uint64_t first;  // word of the run's stream
        std::uint64_t words;
    };
    struct Part {
        std::uint64_t first = 0;  // row of the run
        StoreLayout layout = {};
        std::vector<Area> areas;  // in the order in which they lie in both streams
        // Pages of TIDs that are full; and what the next one will have.
        std::vector<char> tids;
        std::uint64_t tid_rows = 0;
        std::vector<std::uint64_t> spans;
        std::vector<std::uint64_t> bitmaps;
        std::uint64_t page_rows = 0;
        // The stream: how many words have come, and the page that they are on.
        std::uint64_t words = 0;
        std::vector<char> page;
    };

    void lay_out(const RunShare &share, Part *part);
    void take_page_of_tids(const std::uint64_t *words);
    void take_span(std::uint64_t row, std::uint64_t span, const std::uint64_t *bitmap,
                   std::uint32_t bitmap_words);
    void end_page_of_tids(Part *part);
    void append_words(Part *part, const char *words, std::uint64_t count, std::vector<char> *full) const;

    MemoryBudget &memory_;
    const std::uint64_t counted_;
    const StoreLayout run_;
    std::vector<Part> parts_;
    std::uint64_t taken_pages_ = 0;
    std::uint64_t tid_pages_ = 0;
    std::uint64_t rows_ = 0;  // number of the rows whose TIDs have come
};

}  // namespace gpu_engine::server
