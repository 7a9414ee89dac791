/// The conversion of ArgumentParser's messages, which may have several lines, to one line.
enum UsageError {
    static func text(_ message: String, arguments: [String]) -> String {
        var lines = message.split(separator: "\n", omittingEmptySubsequences: true).map { line in
            line.drop { $0 == " " }
        }
        lines = lines.filter { line in
            // The command's own help contains these lines; the hint names it.
            !line.hasPrefix("Usage:") && !line.hasPrefix("help:") && !line.hasPrefix("See '")
        }
        var text = lines.map(String.init).joined(separator: " ")
        if text.hasPrefix("Error: ") { text.removeFirst("Error: ".count) }
        if let first = arguments.first, first.hasPrefix("-"),
            text.contains("'\(first)'") || text.hasPrefix("Unknown option")
        {
            text += "; options stand behind the command: resolve-test COMMAND \(PrintableText.line(first))"
        }
        return text.isEmpty ? "the arguments cannot be read" : text
    }
}
