// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSPrimitives

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

extension ControlRequest {
    /// The members that are sent: those of the command, without default values.
    fileprivate struct Members: Codable {
        var version = ControlProtocol.version
        var command: String
        var limit: Int?
        var names: [String]?
        var state: String?
        var route: String?
        var interval: Double?
        var status: String?
        var failed: Bool?
        var slowerThan: Double?
        var id: UInt64?
        var after: UInt64?
    }

    /// The line, with its line feed.
    package var line: [UInt8] {
        var members = Members(command: word)
        switch command {
        case .ping: break
        case .dump(let selection): members.select(selection.limit, selection.names)
        case .turn(let isOn, let route):
            members.state = isOn ? "on" : "off"
            members.route = route?.description
        case .refresh(let names): members.names = names?.map(\.description)
        case .watch(let interval, let selection):
            members.interval = interval.inSeconds
            members.select(selection.limit, selection.names)
        case .records(let selection):
            members.select(selection.limit, selection.names)
            members.status = selection.statuses?.description
            members.failed = selection.isFailed ? true : nil
            members.slowerThan = selection.slowerThan?.inSeconds
            members.id = selection.callID
            members.after = selection.after
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Text and finite numbers can always be encoded.
        return (try? encoder.encode(members)).map { Array($0) + [UInt8(ascii: "\n")] } ?? []
    }
}

extension ControlRequest.Members {
    fileprivate mutating func select(_ limit: Int, _ names: [HTTPDNSRoute.Pattern]?) {
        self.limit = limit
        self.names = names?.map(\.description)
    }
}
