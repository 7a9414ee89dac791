// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation

@testable import HTTPDNSMonitor

/// The member `_httpdns` of an entry of a HAR file, as a reader of the file sees it.
struct ArchiveFacts: Decodable {
    var route: String
    var source: String?
    var mapping: String?
    var failedAttempts: [String]
    var tls: String?
    var isAnsweredInProcess: Bool
    var failure: String?

    private struct File: Decodable {
        var log: Log
    }

    private struct Log: Decodable {
        var entries: [Entry]
    }

    private struct Entry: Decodable {
        var facts: ArchiveFacts

        enum CodingKeys: String, CodingKey {
            case facts = "_httpdns"
        }
    }

    /// Returns the facts of all entries of a file.
    static func all(of records: [HTTPDNSTrafficMonitor.Record]) throws -> [ArchiveFacts] {
        var (chunks, bytes) = (ArchiveChunks(records), Data())
        while let chunk = chunks.next() { bytes += chunk }
        return try JSONDecoder().decode(File.self, from: bytes).log.entries.map(\.facts)
    }
}
