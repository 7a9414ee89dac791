/// The question of a query: the records of one type, of class IN, at one name.
package struct DNSQuestion: Hashable, Sendable, CustomStringConvertible {
    package let name: DNSName
    package let type: DNSRecordType

    package init(name: DNSName, type: DNSRecordType) {
        self.name = name
        self.type = type
    }

    /// The question for messages, such as `img.shop.test. A`.
    package var description: String { "\(name) \(type)" }
}
