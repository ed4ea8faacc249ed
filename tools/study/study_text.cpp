#include <fmt/core.h>

#include <iterator>

#include "common/text_table.hpp"
#include "study/study_results.hpp"

namespace weft::tools::study {

std::string as_text(const StudyResults& results) {
  std::string text;
  for (std::size_t experiment = 0; experiment < results.experiments.size(); ++experiment) {
    const Experiment& shown = results.experiments[experiment];
    fmt::format_to(std::back_inserter(text), "{}{}{}\n", shown.title, shown.unit.empty() ? "" : ", ",
                   shown.unit);
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
        const Spread spread = results.figure(experiment, point, variant);
        row.push_back(spread.count == 0 ? "-" : fmt::format("{:.4g}", spread.median));
      }
      rows.push_back(std::move(row));
    }
    text += text_table(rows, columns) + "\n";
  }
  for (const std::string& finding : findings_of(results)) text += "* " + finding + "\n";
  for (const std::string& remark : results.remarks) text += "left out: " + remark + "\n";
  return text;
}

std::string as_csv(const StudyResults& results) {
  std::string text = "study,experiment,variant,x,figure,unit,median,low,high,rounds\n";
  for (std::size_t experiment = 0; experiment < results.experiments.size(); ++experiment)
    for (std::size_t point = 0; point < results.experiments[experiment].cases.size(); ++point)
      for (std::size_t variant = 0; variant < results.variants.size(); ++variant) {
        const Experiment& shown = results.experiments[experiment];
        const Spread spread = results.figure(experiment, point, variant);
        if (spread.count == 0) continue;
        fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{:.6g},{:.6g},{:.6g},{}\n",
                       results.options.study, shown.name, results.variants[variant].name,
                       shown.cases[point].label, shown.figure, shown.unit, spread.median, spread.low,
                       spread.high, spread.count);
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
