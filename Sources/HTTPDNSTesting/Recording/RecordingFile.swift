// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSCore

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The file of a recording.
enum RecordingFile {
    /// - Parameters:
    ///   - mayBeMissing: Whether a missing file is an empty recording.
    ///   - digest: The digest of a body.
    static func read(
        _ path: String,
        mayBeMissing: Bool,
        digest: (HTTPArchive.PostData) -> String?
    ) throws(HTTPDNSRecording.Error) -> HTTPArchive {
        if mayBeMissing, !FileManager.default.fileExists(atPath: path) { return HTTPArchive(entries: []) }
        let bytes: [UInt8]
        do {
            bytes = try ReadableFile.contents(of: path)
        } catch {
            throw HTTPDNSRecording.Error(.unreadable, "the recording cannot be read: \(error.reason)", file: path)
        }
        do {
            var archive = try JSONDecoder().decode(HTTPArchive.self, from: Data(bytes))
            // A recording has no request bodies: those of a browser's log must not get into the next file.
            for index in archive.log.entries.indices {
                let request = archive.log.entries[index].request
                archive.log.entries[index].request.bodyDigest = request.bodyDigest ?? request.postData.flatMap(digest)
                archive.log.entries[index].request.postData = nil
            }
            return archive
        } catch {
            throw .malformed(path, reason(of: error, in: bytes))
        }
    }

    static func write(_ archive: HTTPArchive, to path: String) throws(HTTPDNSRecording.Error) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        do {
            let file = try ReplacedFile(path)
            try file.append(Array(try encoder.encode(archive)) + [UInt8(ascii: "\n")])
            try file.finish()
        } catch {
            let reason = (error as? FileFault)?.reason ?? "\(error)"
            throw HTTPDNSRecording.Error(.unwritable, "the recording cannot be saved: \(reason)", file: path)
        }
    }

    /// Returns the text of a decoder's error, with the position in the file.
    private static func reason(of error: any Error, in bytes: [UInt8]) -> String {
        guard let error = error as? DecodingError else { return "\(error)" }
        switch error {
        case .keyNotFound(let key, let context): return "\(path(context.codingPath + [key])) is missing"
        case .valueNotFound(_, let context): return "\(path(context.codingPath)) is null"
        case .typeMismatch(let type, let context): return "\(path(context.codingPath)) is not of type \(type)"
        case .dataCorrupted(let context):
            guard context.codingPath.isEmpty else { return "\(path(context.codingPath)): \(context.debugDescription)" }
            return syntaxError(in: bytes) ?? context.debugDescription
        @unknown default: return "\(error)"
        }
    }

    /// Returns the first syntax error with its line, which the decoder does not report on Linux.
    private static func syntaxError(in bytes: [UInt8]) -> String? {
        do throws(JSONError) {
            _ = try JSONReader.read(bytes)
            return nil
        } catch {
            guard let offset = error.offset else { return error.reason }
            let line = bytes.prefix(offset).count { $0 == UInt8(ascii: "\n") } + 1
            return "line \(line): \(error.reason)"
        }
    }

    /// Returns the text of a path, such as `log.entries[3].response`.
    private static func path(_ keys: [any CodingKey]) -> String {
        keys.reduce(into: "") { text, key in
            if let index = key.intValue {
                text += "[\(index)]"
            } else {
                text += text.isEmpty ? key.stringValue : ".\(key.stringValue)"
            }
        }
    }
}
