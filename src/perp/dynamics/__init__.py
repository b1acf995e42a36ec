"""State, mass, joints, motors and the kinematic map, as arrays over bodies and constraint rows."""
