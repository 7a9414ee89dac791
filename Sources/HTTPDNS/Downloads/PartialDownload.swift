// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSPrimitives
internal import HTTPTypes

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The state of a download that can be continued, stored beside its part.
struct PartialDownload: Hashable, Sendable, Codable {
    /// The SHA-256 hash of the request's URL, which may contain a secret, and of its own Host field.
    var url: String
    /// The strong validator of the response that the part belongs to.
    var validator: String
    /// The names of the fields that select the representation, in lower case and in order.
    var selecting: [String]
    /// The SHA-256 hash of these fields as they were sent.
    var selection: String
    /// The length of the whole body; nil when the server did not declare it.
    var total: Int64?

    /// The longest state that is read.
    private static let limit = 16 * 1024

    /// Returns nil for a response that cannot be continued.
    init?(_ response: HTTPDNSClient.Response, to request: HTTPDNSClient.Request, total: Int64?) {
        guard let validator = PartialDownload.validator(in: response.headerFields),
            response.headerFields[.acceptRanges]?.lowercased() != "none"
        else { return nil }
        let varied = response.headerFields[values: .vary].flatMap { $0.split { $0 == "," || $0 == " " || $0 == "\t" } }
            .map { $0.lowercased() }
        guard !varied.contains("*") else { return nil }
        url = PartialDownload.key(of: request)
        self.validator = validator
        self.total = total
        selecting = PartialDownload.names(varied, of: request, validator)
        selection = PartialDownload.selection(by: selecting, in: response, to: request)
    }

    static func key(of request: HTTPDNSClient.Request) -> String {
        SHA256Hash.hexadecimal(of: "\(request.url)\n\(request.own?.options.hostHeader ?? "")")
    }

    /// Whether a response is one to the same selection among the representations of the URL.
    func isSelected(by request: HTTPDNSClient.Request, _ response: HTTPDNSClient.Response) -> Bool {
        // Fields that the request has now, and did not have then, count too.
        let names = PartialDownload.names(selecting, of: request, validator)
        return names == selecting && selection == PartialDownload.selection(by: names, in: response, to: request)
    }

    /// Returns the names of the fields that may select a representation: those that the server names in `Vary`, and the
    /// request's own, since servers forget to name them. A date does not tell representations apart as an entity tag does (RFC
    /// 9110 section 8.8.2.2), so then those that identify a user belong to them.
    private static func names(
        _ varied: [String],
        of request: HTTPDNSClient.Request,
        _ validator: String
    ) -> [String] {
        var names = Set(varied)
        for field in request.headerFields { names.insert(field.name.canonicalName) }
        if validator.utf8.first != UInt8(ascii: "\"") { names.formUnion(["authorization", "cookie"]) }
        return names.subtracting(["range", "if-range"]).sorted()
    }

    /// Returns the hash of the fields of a request as it was sent; of its own ones when an interceptor has made the response.
    private static func selection(
        by names: [String],
        in response: HTTPDNSClient.Response,
        to request: HTTPDNSClient.Request
    ) -> String {
        let fields = response.sentFields ?? request.headerFields
        var hash = SHA256Hash()
        for name in names {
            for field in fields where field.name.canonicalName == name {
                // Neither a name nor a value has a line feed.
                hash.update(Array("\(name):".utf8))
                field.withUnsafeBytesOfValue { hash.update(Array($0)) }
                hash.update([UInt8(ascii: "\n")])
            }
        }
        return hash.finish().hexadecimal
    }

    /// Returns the strong validator of a response (RFC 9110 section 8.8): a strong entity tag, else a date that is at least
    /// one second older than the response.
    static func validator(in fields: HTTPFields) -> String? {
        if fields.contains(.eTag) { return fields.singleton(.eTag).flatMap { isStrong($0.value) ? $0.value : nil } }
        guard let modified = fields.singleton(.lastModified)?.value, let date = fields.singleton(.date)?.value,
            let changed = HTTPDate.seconds(modified, now: 0), let sent = HTTPDate.seconds(date, now: 0),
            sent - changed >= 1
        else { return nil }
        return modified
    }

    /// Whether a text is a strong entity tag. Bytes outside ASCII would not be sent back as they came.
    private static func isStrong(_ tag: String) -> Bool {
        let bytes = tag.utf8
        return bytes.count >= 2 && bytes.first == UInt8(ascii: "\"") && bytes.last == UInt8(ascii: "\"")
            && bytes.dropFirst().dropLast().allSatisfy { (0x21...0x7e).contains($0) && $0 != UInt8(ascii: "\"") }
    }

    // MARK: the file

    private static func path(of file: ReplacedFile) -> String { ReplacedFile.name(beside: file.path, "state") }

    /// Returns the stored state; nil without one, and for one that cannot be read.
    static func stored(for file: ReplacedFile) -> PartialDownload? {
        guard let bytes = try? ReadableFile.contents(of: path(of: file), upTo: limit) else { return nil }
        return try? JSONDecoder().decode(PartialDownload.self, from: Data(bytes))
    }

    /// Stores the state, and keeps the part from now on.
    func store(for file: ReplacedFile) throws {
        let state = try ReplacedFile(PartialDownload.path(of: file), isPrivate: true)
        try state.append(Array(try JSONEncoder().encode(self)))
        try state.finish()
        file.keep()
    }

    /// Removes the state.
    static func remove(for file: ReplacedFile) { ReplacedFile.remove(path(of: file)) }
}

/// The value of a `Content-Range` field for bytes (RFC 9110 section 14.4).
struct ContentRange: Hashable, Sendable {
    var first: Int64
    var last: Int64
    /// The length of the whole representation; nil for `*`.
    var total: Int64?

    /// Returns nil for other text, such as that of an unsatisfied range.
    init?(_ text: String) {
        let words = text.split(separator: " ", maxSplits: 1)
        guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
        let parts = words[1].split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Int64(digits: ends[0]), let last = Int64(digits: ends[1]), first <= last
        else {
            return nil
        }
        self.first = first
        self.last = last
        if parts[1] != "*" {
            guard let total = Int64(digits: parts[1]), last < total else { return nil }
            self.total = total
        }
    }
}
