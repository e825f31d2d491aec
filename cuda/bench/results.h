// A benchmark's figures: printed as they come, tabulated last, and written as JSON.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

namespace gpu_engine::bench {

struct Figure {
    std::string table;   // a name like "lookup 32"
    std::string line;    // the thing that was measured
    std::string column;  // at which size
    double value;        // in `unit`
    std::string unit;
    double of_limit;        // share of the limit measured in the same run; 0 where there is none
    double bytes_an_entry;  // 0 where it doesn't apply
};

class Results {
  public:
    void add(Figure figure) { figures_.push_back(std::move(figure)); }
    void describe(std::string name, std::string value) {
        facts_.emplace_back(std::move(name), std::move(value));
    }

    std::size_t size() const { return figures_.size(); }
    // Prints the figures from number `first` on: one table after the other, with a line for each thing
    // measured and a column for each size.
    void print(std::FILE *out, std::size_t first) const;
    // Returns false when the file can't be written.
    bool write_json(const std::string &path) const;

  private:
    std::vector<std::pair<std::string, std::string>> facts_;
    std::vector<Figure> figures_;
};

}  // namespace gpu_engine::bench
