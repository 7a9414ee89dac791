/// What one cached answer is about. Ports share addresses, so the port is not part of it.
struct AnswerKey: Hashable, Sendable {
    /// The number that stands for the system resolver in place of a route's.
    static let system = -1

    var host: HostName
    var families: AddressFamilies
    /// The number of the route whose providers answer, or ``system``.
    var source: Int
}
