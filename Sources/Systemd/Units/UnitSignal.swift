/// What a signal of the manager says about units.
enum UnitSignal: Hashable, Sendable {
    /// Something about the unit of that object is new.
    case changed(path: String)
    /// Something about the unit of that name is new: a job of it has ended, or it is no longer loaded.
    case moved(name: String)
    /// Somebody wants something of the unit of that name: that it starts, or that it stops.
    case asked(name: String)
    /// The manager has read everything again.
    case reloaded
    /// Nothing that anybody here waits for.
    case other

    init(_ message: BusMessage) throws(BusError) {
        switch message.member {
        case "PropertiesChanged": self = .changed(path: message.path)
        case "UnitRemoved": self = .moved(name: try message.text())
        case "JobNew", "JobRemoved":
            // The job's number and its object.
            _ = (try message.number32(), try message.text("o"))
            let name = try message.text()
            self = message.member == "JobNew" ? .asked(name: name) : .moved(name: name)
        case "Reloading": self = .reloaded
        default: self = .other
        }
    }
}
