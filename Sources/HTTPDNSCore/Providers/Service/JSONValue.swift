/// A JSON value (RFC 8259), read by ``JSONReader``.
package enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    /// A number; infinite beyond the range of a `Double`.
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// Returns the value of a key; `nil` when this is not an object, or has no such key.
    package subscript(key: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members[key]
    }

    /// The text; `nil` when this is not a string.
    package var text: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// The number as a `UInt16`; `nil` when this is not a whole number from 0 to 65,535.
    package var uint16: UInt16? {
        guard case .number(let number) = self else { return nil }
        return UInt16(exactly: number)
    }

    /// The kind of the value, for messages, without its content.
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
