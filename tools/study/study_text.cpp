#include <fmt/format.h>

#include <iterator>
#include <map>

#include "common/text_table.hpp"
#include "experiment/report/report_files.hpp"
#include "study/study_results.hpp"

namespace weft::tools::study {

namespace {

/// A row for each point, a column for each variant.
std::string table_of(const StudyResults& results, std::size_t experiment, const std::string& figure,
                     const std::string& unit, double scale) {
  const Experiment& shown = results.experiments[experiment];
  std::vector<TextColumn> columns{{TextColumn::Align::right}};
  TextRow head{shown.x_name};
  for (const Variant& variant : results.variants) {
    columns.push_back({TextColumn::Align::right});
    head.push_back(variant.name);
  }
  std::vector<TextRow> rows{head};
  for (std::size_t point = 0; point < shown.cases.size(); ++point) {
    TextRow row{shown.cases[point].label};
    for (std::size_t variant = 0; variant < results.variants.size(); ++variant) {
      const Spread spread = results.figure(experiment, point, variant, figure, scale);
      row.push_back(spread.count == 0 ? "-" : fmt::format("{:.4g}", spread.median));
    }
    rows.push_back(std::move(row));
  }
  return fmt::format("{}{}\n{}\n", unit.empty() ? "" : ", ", unit, text_table(rows, columns));
}

}  // namespace

std::vector<std::string> gaps_of(const StudyResults& results, std::size_t experiment) {
  const Experiment& shown = results.experiments[experiment];
  std::vector<std::string> lines;
  for (std::size_t variant = 0; variant < results.variants.size(); ++variant) {
    std::map<std::string, std::vector<std::string>> reasons;  // and the points that have it
    for (std::size_t point = 0; point < shown.cases.size(); ++point) {
      if (results.figure(experiment, point, variant).count > 0) continue;
      std::string why = "has no such figure";
      for (const Json& round : results.answers[experiment][point][variant]) why = round.value("why", why);
      reasons[why].push_back(shown.cases[point].label);
    }
    for (const auto& [why, points] : reasons)
      lines.push_back(
          points.size() == shown.cases.size()
              ? fmt::format("{}: {}", results.variants[variant].name, why)
              : fmt::format("{}, {}: {}", results.variants[variant].name, fmt::join(points, ", "), why));
  }
  return lines;
}

std::string as_text(const StudyResults& results) {
  std::string text;
  for (std::size_t experiment = 0; experiment < results.experiments.size(); ++experiment) {
    const Experiment& shown = results.experiments[experiment];
    text += shown.title + table_of(results, experiment, shown.figure, shown.unit, shown.scale);
    for (const std::string& gap : gaps_of(results, experiment)) text += "- " + gap + "\n";
    if (!gaps_of(results, experiment).empty()) text += "\n";
    if (!shown.x_figure.empty())
      text += "Injection rate that was achieved there" +
              table_of(results, experiment, shown.x_figure, "million/s", 1e-6);
  }
  return text + findings_text(findings_of(results), results.remarks);
}

std::string as_csv(const StudyResults& results) {
  std::string text = "study,experiment,variant,x,x_reached,figure,unit,median,low,high,rounds\n";
  for (std::size_t experiment = 0; experiment < results.experiments.size(); ++experiment)
    for (std::size_t point = 0; point < results.experiments[experiment].cases.size(); ++point)
      for (std::size_t variant = 0; variant < results.variants.size(); ++variant) {
        const Experiment& shown = results.experiments[experiment];
        const Spread spread = results.figure(experiment, point, variant);
        if (spread.count == 0) continue;
        fmt::format_to(std::back_inserter(text), "{},{},{},{},{:.6g},{},{},{:.6g},{:.6g},{:.6g},{}\n",
                       results.options.study, shown.name, results.variants[variant].name,
                       shown.cases[point].label, results.x_of(experiment, point, variant), shown.figure,
                       shown.unit, spread.median, spread.low, spread.high, spread.count);
      }
  return text;
}

std::string as_json(const StudyResults& results) {
  Json all = {{"study", results.options.study},     {"ranks", results.options.ranks},
              {"workers", results.options.workers}, {"rounds", results.options.rounds},
              {"other_programs", results.others},   {"findings", findings_of(results)},
              {"left_out", results.remarks},        {"points", Json::array()}};
  for (std::size_t experiment = 0; experiment < results.experiments.size(); ++experiment)
    for (std::size_t point = 0; point < results.experiments[experiment].cases.size(); ++point)
      for (std::size_t variant = 0; variant < results.variants.size(); ++variant) {
        const Experiment& shown = results.experiments[experiment];
        const Spread spread = results.figure(experiment, point, variant);
        Json entry = {{"experiment", shown.name},
                      {"variant", results.variants[variant].name},
                      {"options", results.variants[variant].options},
                      {"x", shown.cases[point].label},
                      {"x_reached", results.x_of(experiment, point, variant)},
                      {"parameters", shown.cases[point].parameters},
                      {"figure", shown.figure},
                      {"unit", shown.unit},
                      {"rounds", results.answers[experiment][point][variant]}};
        if (spread.count > 0) entry["median"] = spread.median;
        all["points"].push_back(std::move(entry));
      }
  return all.dump(1) + "\n";
}

}  // namespace weft::tools::study
