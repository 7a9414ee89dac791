// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// A record as one line of JSON.
enum RecordJSON {
    /// Returns the text in one line, without its end.
    static func bytes(_ record: HTTPDNSTrafficMonitor.Record) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(record))
    }

    static func record(_ bytes: some Sequence<UInt8>) throws -> HTTPDNSTrafficMonitor.Record {
        try JSONDecoder().decode(HTTPDNSTrafficMonitor.Record.self, from: Data(bytes))
    }
}
