// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The origin of a setting: a file with line and column, or a label such as `--map` for other sources.
public struct HTTPDNSSourceLocation: Hashable, Sendable, CustomStringConvertible {
    /// The file's name as the user gave it, or the label of another source (`--map`, `API`).
    public var file: String
    /// The line, from 1; nil for a source without lines.
    public var line: Int?
    /// The column, from 1, in characters; nil when it is not known.
    public var column: Int?

    /// Creates a location.
    public init(file: String, line: Int? = nil, column: Int? = nil) {
        self.file = file
        self.line = line
        self.column = column
    }

    /// The form `file:line:column`, without the parts that are not known.
    public var description: String {
        [file, line.map(String.init), column.map(String.init)].compactMap { $0 }.joined(separator: ":")
    }
}
