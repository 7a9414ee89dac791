// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
/// The corrections of the completion script that ArgumentParser writes for fish.
///
/// The script describes the options for fish's `argparse`, which refuses names with a dot, such as `http1.1`. After a refusal
/// it repeats the same call without an end.
enum FishCompletion {
    /// Returns the script without names that `argparse` refuses, and with an end after a refusal; any other text as it is.
    static func corrected(_ text: String) -> String {
        guard text.hasPrefix("function __resolve-test") else { return text }
        return text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            let line = String(line)
            if line.contains("__resolve-test_parse_subcommand ") {
                return line.replacing(/\ '(?:(\w)\/)?[\w-]*\.[^'\ ]*'/) { match in match.1.map { " '\($0)'" } ?? "" }
            }
            // An option that the command does not have is refused, too.
            return line.contains("argparse -sn ") ? line + "; or break" : line
        }.joined(separator: "\n")
    }
}
#endif
