/// A machine's file of which pictures are drawn: groups, a state to which nothing leads, an event that is ignored.
package let drawnLamp = """
    machine: lamp
    start: off-now
    to: [off-now]
    events: {press: {}, look: {}}
    groups: {all: {states: [off-now, burning]}}
    states:
      off-now: {when: {press: burning, look: ignore}}
      burning:
        fields: {level: {values: [low, high], default: low}, note: {type: string, optional: true}}
        enter: /bin/light {level}
        when: {press: off-now, look: stay}
        after: {1h: off-now}
      broken: {final: true, to: any}
    """
