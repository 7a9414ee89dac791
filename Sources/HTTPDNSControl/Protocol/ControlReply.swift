// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNS
package import HTTPDNSMonitor

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// A line from a service: a result, a fault, or a report of a watch.
package struct ControlReply: Codable, Hashable, Sendable {
    /// The identity of the service.
    package struct Identity: Codable, Hashable, Sendable {
        package var processIdentifier: Int
        /// The library's version.
        package var library: String
        /// The supported versions of the control protocol.
        package var protocolVersions: [Int]
    }

    /// The result of a refresh.
    package struct Refresh: Codable, Hashable, Sendable {
        /// The number of answers that are refreshed.
        package var asked: Int
        /// Whether there are more than were refreshed.
        package var isTruncated: Bool
    }

    /// The records of a traffic monitor.
    package struct Records: Codable, Hashable, Sendable {
        /// The records, the oldest first.
        package var calls: [HTTPDNSTrafficMonitor.Record]
        /// The number of the newest call that was compared with the request, for ``RecordSelection/after``; nil without records.
        package var last: UInt64?
        /// The number of records that the monitor has in memory.
        package var stored: Int
        /// Whether records, or the bodies of one, did not fit into the reply.
        package var isTruncated: Bool

        package init(
            calls: [HTTPDNSTrafficMonitor.Record],
            last: UInt64?,
            stored: Int,
            isTruncated: Bool = false
        ) {
            self.calls = calls
            self.last = last
            self.stored = stored
            self.isTruncated = isTruncated
        }
    }

    package var version = ControlProtocol.version
    /// The request's command; nil when the request could not be parsed.
    package var command: String?
    package var identity: Identity?
    package var diagnostics: HTTPDNSClient.Status?
    package var killSwitch: HTTPDNSClient.Status.Switch?
    /// The routes that a turn of the switch has left on, because their patterns are more specific.
    package var staysOn: [String]?
    package var refresh: Refresh?
    package var event: ControlEvent?
    package var records: Records?
    /// The reason that there is no result.
    package var error: ControlFault?

    package init(to command: String?, _ fault: ControlFault? = nil) {
        self.command = command
        error = fault
    }

    private enum CodingKeys: String, CodingKey {
        case version, command, identity, diagnostics, refresh, event, records, error, staysOn
        case killSwitch = "switch"
    }

    /// The line, with its line feed. Keys are in alphabetical order.
    package var line: [UInt8] {
        guard let data = try? Self.encoder.encode(self) else {
            // The reply has numbers that JSON cannot represent, which does not happen.
            return ControlReply(to: command, .notWritten).plainLine
        }
        guard data.count <= ControlProtocol.maximumReply else {
            return ControlReply(to: command, .tooLong(data.count)).plainLine
        }
        return Array(data) + [UInt8(ascii: "\n")]
    }

    private static var encoder: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }

    /// Returns the bytes that a record takes in a line.
    static func length(of record: HTTPDNSTrafficMonitor.Record) -> Int {
        (try? encoder.encode(record)).map { $0.count + 1 } ?? 0
    }

    private var plainLine: [UInt8] {
        (try? JSONEncoder().encode(self)).map { Array($0) + [UInt8(ascii: "\n")] } ?? []
    }

    /// Parses a line of a service.
    /// - Throws: `DecodingError`, when it is not of this protocol.
    package init(line: [UInt8]) throws {
        self = try JSONDecoder().decode(ControlReply.self, from: Data(line))
    }
}

extension ControlFault {
    fileprivate static var notWritten: ControlFault {
        ControlFault(.badRequest, "the reply cannot be written as JSON", hint: "report this")
    }

    fileprivate static func tooLong(_ count: Int) -> ControlFault {
        ControlFault(
            .replyTooLong,
            "the reply has \(count) bytes; the limit is \(ControlProtocol.maximumReply)",
            hint: "ask for less with \"limit\" or \"names\""
        )
    }
}
