// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import Foundation

@testable import resolve_test

/// JSON that the program printed, as another parser reads it.
struct JSONObject {
    enum Value: Equatable {
        case null, bool(Bool), integer(Int), number(Double), text(String), other
    }

    private let members: [String: Any]

    init(_ text: String) throws {
        members = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] ?? [:]
    }

    private init(members: [String: Any]) { self.members = members }

    var names: Set<String> { Set(members.keys) }

    subscript(name: String) -> JSONObject? {
        (members[name] as? [String: Any]).map(JSONObject.init(members:))
    }

    subscript(name: String) -> Value? {
        switch members[name] {
        case nil: nil
        case is NSNull: .null
        case let text as String: .text(text)
        case let number as NSNumber:
            number.doubleValue == Double(number.intValue) ? .integer(number.intValue) : .number(number.doubleValue)
        default: .other
        }
    }

    func texts(_ name: String) -> [String] { members[name] as? [String] ?? [] }
}
#endif
