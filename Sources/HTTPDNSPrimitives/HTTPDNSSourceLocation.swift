/// Where a setting came from: a file with line and column, or a word such as `--map` for what was not read from a file.
public struct HTTPDNSSourceLocation: Hashable, Sendable, CustomStringConvertible {
    /// The file's name as the user gave it, or the origin's own word (`--map`, `API`).
    public var file: String
    /// The line, from 1; nil where the origin has no lines.
    public var line: Int?
    /// The column, from 1, in characters; nil where it is not known.
    public var column: Int?

    /// Creates a location.
    public init(file: String, line: Int? = nil, column: Int? = nil) {
        self.file = file
        self.line = line
        self.column = column
    }

    /// `file:line:column`, as far as these are known.
    public var description: String {
        [file, line.map(String.init), column.map(String.init)].compactMap { $0 }.joined(separator: ":")
    }
}
