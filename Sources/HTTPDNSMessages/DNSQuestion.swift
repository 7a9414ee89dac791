/// What a query asks: the records of one type, of class IN, at one name.
package struct DNSQuestion: Hashable, Sendable, CustomStringConvertible {
    package let name: DNSName
    package let type: DNSRecordType

    package init(name: DNSName, type: DNSRecordType) {
        self.name = name
        self.type = type
    }

    /// `img.shop.test. A`, for messages.
    package var description: String { "\(name) \(type)" }
}
