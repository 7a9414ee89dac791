// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import ArgumentParser
internal import HTTPDNSPrimitives

/// The options of `fetch` about its output.
struct FetchOutputOptions: ParsableArguments, Sendable {
    @Option(
        curl: "-o --output",
        "FILE",
        "Write the response body to this file; - is standard output.",
        completion: .file()
    )
    var file: String?
    @Flag("-O --remote-name", "Write the response body to a file with the last name of the URL's path.")
    var usesRemoteName = false
    @Option(curl: "-C --continue-at", "OFFSET", "Continue the file at this byte; - for its end.")
    var continueAt: String?
    @Flag("-i --include", "Write status and header fields of each response before the body.") var includesHead = false
    @Option(
        curl: "-D --dump-header",
        "FILE",
        "Write status and header fields to this file; - is standard output.",
        completion: .file()
    )
    var headFile: String?
    @Option(curl: "-w --write-out", "FORMAT", "Print this text at the end, with variables such as %{http_code}.")
    var writeOut: String?
    @Flag("-s --silent", "Print no report, notes, progress and errors.") var isSilent = false
    @Flag("-S --show-error", "With -s, print errors.") var showsErrors = false
    @Flag("-f --fail", "Treat a status of 400 or more as a failure (exit 22), and discard its body.")
    var failsOnStatus = false
    @Flag("--fail-with-body", "The same, but write the body.") var failsWithBody = false
    @Option(
        "--cache",
        "FOLDER",
        "Folder of a response cache for this user; it is created when it is missing.",
        completion: .directory
    )
    var cacheFolder: String?
    @Option(
        "--har",
        "FILE",
        "Write the call with its hops and bodies to this HAR file, also when it fails.",
        completion: .file()
    )
    var archiveFile: String?
    @Option("--report", "FILE", "Write the same as a web page, which loads nothing else.", completion: .file())
    var reportFile: String?

    /// Refuses options that exclude each other.
    func check(isJSON: Bool) throws(CommandFailure) {
        if isJSON {
            if file == "-" {
                throw .usage(
                    "--json and -o - both use standard output",
                    hint: "write the body to a file with -o FILE"
                )
            }
            if headFile == "-" { throw .usage("--json and -D - both use standard output", hint: "write -D FILE") }
            if writeOut != nil {
                throw .usage("--json and -w both use standard output", hint: "the object has what -w would print")
            }
        }
        guard file == nil || !usesRemoteName else { throw .usage("-o and -O cannot be combined") }
    }

    func body(of url: String, isJSON: Bool, _ standardOutput: StandardStream) throws(CommandFailure) -> FetchBody {
        let isTerminal = standardOutput.isTerminal
        var path = file
        if usesRemoteName {
            let name = try URLArgument.fileName(of: url)
            path = name == "-" ? "./-" : name
        }
        if path == nil, !isJSON, !isTerminal { path = "-" }
        return FetchBody(path: path, isTerminal: isTerminal, standardOutput: standardOutput)
    }

    /// Returns the place of `-D` for status and header fields; nil without it. Those of `-i` and `-I` go to the place of the body.
    func heads(_ standardOutput: StandardStream) throws(CommandFailure) -> BodyDestination? {
        guard let headFile else { return nil }
        return try BodyDestination(path: headFile, standardOutput: standardOutput, option: "-D")
    }
}

/// The place of the body of `fetch`, and the bytes that it has already.
struct FetchBody: Sendable {
    /// The path of a file, `-` for standard output, nil when the body is discarded.
    let path: String?
    let isTerminal: Bool
    private let standardOutput: StandardStream
    /// The number of bytes before the first requested one.
    private var offset = 0

    init(path: String?, isTerminal: Bool, standardOutput: StandardStream) {
        (self.path, self.isTerminal, self.standardOutput) = (path, isTerminal, standardOutput)
    }

    /// Reads the value of `-C`.
    /// - Returns: A copy that continues at the first requested byte.
    func continued(at text: String?, range: String?) throws(CommandFailure) -> FetchBody {
        guard let text else { return self }
        guard range == nil else { throw .usage("-C and -r cannot be combined: both name a part") }
        var body = self
        if text == "-" {
            if let path, path != "-" { body.offset = BodyDestination.size(ofFile: path) ?? 0 }
        } else {
            guard let number = Int(digits: text) else {
                throw .usage("-C \"\(text)\" is not a number of bytes", hint: "write -C - for the end of the file")
            }
            body.offset = number
        }
        return body
    }

    /// The value of the field Range; nil for the whole resource.
    var range: String? { offset > 0 ? "bytes=\(offset)-" : nil }

    /// Returns whether the body of a response belongs behind the bytes that are there: a part that begins at the requested byte.
    /// - Parameter contentRange: The field Content-Range; nil without it.
    func takes(_ status: Int, contentRange: String?) -> Bool {
        offset == 0 || status == 206 && contentRange.flatMap(Self.firstByte) == offset
    }

    /// Returns the first byte of `bytes FIRST-LAST/LENGTH` (RFC 9110 section 14.4); nil for anything else.
    static func firstByte(_ contentRange: String) -> Int? {
        contentRange.firstMatch(of: /^\s*[Bb][Yy][Tt][Ee][Ss][ \t]+([0-9]+)-/).flatMap { Int($0.output.1) }
    }

    func destination() throws(CommandFailure) -> BodyDestination {
        if offset > 0, let path, path != "-" { return try BodyDestination(appendingTo: path) }
        return try BodyDestination(path: path, standardOutput: standardOutput)
    }
}
#endif
