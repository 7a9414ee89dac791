#if LocalProvider
internal import Foundation
internal import HTTPTypes

/// A reply of a protocol.
struct ServedReply: Sendable {
    var status = 200
    var headerFields: HTTPFields = [:]
    var body: [UInt8] = []

    init(status: Int = 200, contentType: String, body: [UInt8]) {
        self.status = status
        self.body = body
        headerFields[.contentType] = contentType
    }

    /// Creates a reply with a line of text.
    init(status: Int, text: String) {
        self.init(status: status, contentType: "text/plain; charset=utf-8", body: Array(text.utf8))
    }

    /// Creates a reply with a JSON object, its members in the order of their names.
    init(status: Int = 200, contentType: String = "application/json", json value: some Encodable) throws(Refusal) {
        self.init(status: status, contentType: contentType, body: try Self.json(value))
    }

    static func json(_ value: some Encodable) throws(Refusal) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return Array(try encoder.encode(value))
        } catch {
            throw Refusal(.internalError, "the answer cannot be written as JSON")
        }
    }
}
#endif
