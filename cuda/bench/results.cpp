#include "bench/results.h"

#include <algorithm>
#include <utility>

namespace gpu_engine::bench {
namespace {

// Collects the values of `part` over the figures, each once, in the order of their first mention.
template <typename Part>
std::vector<std::string> distinct(const std::vector<Figure> &figures, Part part) {
    std::vector<std::string> result;
    for (const Figure &figure : figures) {
        if (std::find(result.begin(), result.end(), part(figure)) == result.end()) {
            result.push_back(part(figure));
        }
    }
    return result;
}

std::string quoted(const std::string &text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            result += '\\';
        }
        result += c;
    }
    return result + '"';
}

}  // namespace

void Results::print(std::FILE *out, std::size_t first) const {
    const std::vector<Figure> figures(figures_.begin() + static_cast<std::ptrdiff_t>(first), figures_.end());
    for (const std::string &table : distinct(figures, [](const Figure &f) { return f.table; })) {
        std::vector<Figure> own;
        for (const Figure &figure : figures) {
            if (figure.table == table) {
                own.push_back(figure);
            }
        }
        const auto columns = distinct(own, [](const Figure &f) { return f.column; });
        const auto lines = distinct(own, [](const Figure &f) { return f.line; });
        std::size_t width = table.size();
        for (const std::string &line : lines) {
            width = std::max(width, line.size());
        }
        std::fprintf(out, "\n%-*s", static_cast<int>(width), table.c_str());
        for (const std::string &column : columns) {
            std::fprintf(out, " | %14s", column.c_str());
        }
        std::fprintf(out, " | unit, bytes an entry\n");
        for (const std::string &line : lines) {
            std::fprintf(out, "%-*s", static_cast<int>(width), line.c_str());
            std::string unit;
            double bytes = 0;
            for (const std::string &column : columns) {
                const auto figure = std::find_if(own.begin(), own.end(), [&](const Figure &f) {
                    return f.line == line && f.column == column;
                });
                if (figure == own.end()) {
                    std::fprintf(out, " | %14s", "");
                    continue;
                }
                unit = figure->unit;
                bytes = figure->bytes_an_entry;
                if (figure->of_limit > 0) {
                    std::fprintf(out, " | %8.5g %4.0f%%", figure->value, figure->of_limit * 100);
                } else {
                    std::fprintf(out, " | %8.5g      ", figure->value);
                }
            }
            std::fprintf(out, " | %s", unit.c_str());
            if (bytes > 0) {
                std::fprintf(out, ", %.3f", bytes);
            }
            std::fprintf(out, "\n");
        }
    }
}

bool Results::write_json(const std::string &path) const {
    std::FILE *file = std::fopen(path.c_str(), "w");
    if (file == nullptr) {
        return false;
    }
    std::fprintf(file, "{\n");
    for (const auto &[name, value] : facts_) {
        std::fprintf(file, "  %s: %s,\n", quoted(name).c_str(), quoted(value).c_str());
    }
    std::fprintf(file, "  \"figures\": [");
    for (std::size_t i = 0; i < figures_.size(); ++i) {
        const Figure &figure = figures_[i];
        std::fprintf(file,
                     "%s\n    {\"table\": %s, \"line\": %s, \"column\": %s, \"value\": %.6g, \"unit\": %s, "
                     "\"of_limit\": %.4f, \"bytes_an_entry\": %.4f}",
                     i == 0 ? "" : ",", quoted(figure.table).c_str(), quoted(figure.line).c_str(),
                     quoted(figure.column).c_str(), figure.value, quoted(figure.unit).c_str(),
                     figure.of_limit, figure.bytes_an_entry);
    }
    std::fprintf(file, "\n  ]\n}\n");
    return std::fclose(file) == 0;
}

}  // namespace gpu_engine::bench
