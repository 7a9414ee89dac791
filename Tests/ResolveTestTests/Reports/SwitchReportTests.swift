// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import Foundation
import HTTPDNS
import Testing

@testable import resolve_test

struct SwitchReportTests {
    private static func state(isOn: Bool, _ entries: [(route: String?, origin: String, seconds: Double)]) throws
        -> HTTPDNSClient.Status.Switch
    {
        let entries = entries.map { entry in
            let route = entry.route.map { "\"\($0)\"" } ?? "null"
            return #"{ "route": \#(route), "origin": "\#(entry.origin)", "seconds": \#(entry.seconds) }"#
        }
        let text = #"{ "isOn": \#(isOn), "entries": [\#(entries.joined(separator: ", "))], "generation": 3 }"#
        return try JSONDecoder().decode(HTTPDNSClient.Status.Switch.self, from: Data(text.utf8))
    }

    @Test("The text of switch is that of its file")
    func golden() throws {
        let states = try [
            Self.state(isOn: true, []),
            Self.state(isOn: true, [("*.a-rather-long-zone.shop.example", "socket", 4)]),
            Self.state(isOn: false, [(nil, "file", 7300), ("*.shop.example", "environment", 61)]),
        ]
        try Golden.check("switch") { screen in
            states.map { state in
                FoldedText.text(SwitchReport.text(state, staysOn: ["img.shop.example"]), width: screen.width)
            }.joined()
        }
    }
}
#endif
