/// A JSON value (RFC 8259), read by ``JSONReader``.
package enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    /// Infinite beyond the range of a `Double`.
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// The value of a key; nil when this is no object, or has no such key.
    package subscript(key: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members[key]
    }

    /// The text; nil when this is no string.
    package var text: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// The number as a 16-bit one; nil when this is no number, or no whole one from 0 to 65,535.
    package var uint16: UInt16? {
        guard case .number(let number) = self else { return nil }
        return UInt16(exactly: number)
    }

    /// What it is, for messages: never its content.
    package var kind: String {
        switch self {
        case .null: "null"
        case .bool: "a truth value"
        case .number: "a number"
        case .string: "a string"
        case .array: "a list"
        case .object: "an object"
        }
    }
}
