/// A JSON value whose members keep their order, so that the output of runs can be compared (RFC 8259).
enum JSONValue: Sendable {
    case null
    case bool(Bool)
    case integer(Int)
    /// A number, rounded to that many decimal places.
    case decimal(Double, places: Int)
    case text(String)
    case array([JSONValue])
    case object([(name: String, value: JSONValue)])

    /// Returns text, or null.
    static func optional(_ text: String?) -> JSONValue { text.map(JSONValue.text) ?? .null }

    /// Returns seconds to the microsecond, or null.
    static func seconds(_ duration: Duration?) -> JSONValue {
        guard let duration else { return .null }
        let (seconds, attoseconds) = duration.components
        return .decimal(Double(seconds) + Double(attoseconds) / 1e18, places: 6)
    }

    /// The value without line breaks.
    var oneLine: String { rendered(indentation: nil) }

    /// The value with a line for each member, two spaces deeper for each level.
    var indented: String { rendered(indentation: 0) }

    private func rendered(indentation: Int?) -> String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .integer(let value): String(value)
        case .decimal(let value, let places): Self.number(value, places: places)
        case .text(let text): Self.quoted(text)
        case .array(let values):
            Self.list("[", values.map { $0.rendered(indentation: indentation.map { $0 + 2 }) }, "]", indentation)
        case .object(let members):
            Self.list(
                "{",
                members.map { member in
                    Self.quoted(member.name) + (indentation == nil ? ":" : ": ")
                        + member.value.rendered(indentation: indentation.map { $0 + 2 })
                },
                "}",
                indentation
            )
        }
    }

    private static func list(_ open: String, _ items: [String], _ close: String, _ indentation: Int?) -> String {
        guard !items.isEmpty else { return open + close }
        guard let indentation else { return open + items.joined(separator: ",") + close }
        let margin = String(repeating: " ", count: indentation)
        return "\(open)\n\(margin)  " + items.joined(separator: ",\n\(margin)  ") + "\n\(margin)\(close)"
    }

    /// Returns the shortest text with at most `places` decimal places. JSON has no infinities: they become null.
    private static func number(_ value: Double, places: Int) -> String {
        guard value.isFinite else { return "null" }
        let scale = (0..<places).reduce(1.0) { scale, _ in scale * 10 }
        let rounded = (value * scale).rounded() / scale
        return rounded == rounded.rounded() && rounded.magnitude < 1e15 ? String(Int(rounded)) : "\(rounded)"
    }

    private static func quoted(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "\"") { result, scalar in
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case let scalar where scalar.value < 0x20 || (0x7f..<0xa0).contains(scalar.value):
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        } + "\""
    }
}
